package cli

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/zapr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"
)

// Forms of log lines (flag --log-format).
const (
	LogJSON = "json"
	LogText = "text"
)

// LogEverything makes all libraries log through this logger.
func LogEverything(log logr.Logger) {
	ctrl.SetLogger(log)
	klog.SetLogger(log.WithName("client-go"))
	slog.SetDefault(slog.New(logr.ToSlogHandler(log)))
}

// NewLog logs lines at the given level and above, each with the keys of package logkey.
func NewLog(level, format string, out io.Writer) (logr.Logger, error) {
	parsed, err := ParseLevel(level)
	if err != nil {
		return logr.Logger{}, fmt.Errorf("--log-level: %w", err)
	}
	config := zap.NewProductionEncoderConfig()
	config.EncodeTime = isoTime
	var encoder zapcore.Encoder
	switch format {
	case LogJSON:
		encoder = zapcore.NewJSONEncoder(config)
	case LogText:
		config.EncodeLevel, config.ConsoleSeparator = zapcore.CapitalLevelEncoder, " "
		encoder = zapcore.NewConsoleEncoder(config)
	default:
		return logr.Logger{}, fmt.Errorf("--log-format must be %s or %s, not %q", LogJSON, LogText, format)
	}
	core := zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(out)), parsed)
	// As zap's own configuration for production: of equal lines within a second, the first hundred, and then each hundredth.
	sampled := zapcore.NewSamplerWithOptions(keyedCore{core}, time.Second, 100, 100)
	return zapr.NewLogger(zap.New(sampled, zap.AddCaller())), nil
}

// ParseLevel reads a level by its name, or as upstream has it: a number, of which 0 is the least that is logged.
func ParseLevel(level string) (zapcore.Level, error) {
	number, notNumber := strconv.Atoi(level)
	switch {
	case notNumber != nil:
		return zapcore.ParseLevel(level)
	case number == 0:
		return zapcore.WarnLevel, nil
	case number == 1:
		return zapcore.InfoLevel, nil
	}
	return zapcore.DebugLevel, nil
}

func isoTime(t time.Time, enc zapcore.PrimitiveArrayEncoder) {
	enc.AppendString(t.UTC().Format("2006-01-02T15:04:05.000Z"))
}

// keyedCore gives what libraries log the keys of package logkey, and names the Kyma of a workflow beside it.
type keyedCore struct{ zapcore.Core }

// With implements zapcore.Core.
func (c keyedCore) With(fields []zapcore.Field) zapcore.Core {
	return keyedCore{c.Core.With(keyed(fields))}
}

// Check implements zapcore.Core.
func (c keyedCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(entry.Level) {
		return checked.AddCore(entry, c)
	}
	return checked
}

// Write implements zapcore.Core.
func (c keyedCore) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	if entry.Level == zapcore.ErrorLevel && isOutrun(entry, fields) {
		entry.Level = zapcore.InfoLevel
	}
	return c.Core.Write(entry, keyed(fields))
}

// isOutrun reports whether a library says in a line that another process was faster. Processes that start at once all make
// the Lease, and two goroutines of one process make the webhook's certificate. Whoever comes second tries again, so that is
// not an error.
func isOutrun(entry zapcore.Entry, fields []zapcore.Field) bool {
	if !slices.Contains([]string{"leaderelection", "cert-rotation"}, entry.LoggerName) {
		return false
	}
	// It follows a refresh that failed, which has a line of its own.
	if entry.Message == "secret is not well-formed, cannot update webhook configurations" {
		return true
	}
	for _, field := range fields {
		err, ok := field.Interface.(error)
		if ok && field.Type == zapcore.ErrorType && (apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err)) {
			return true
		}
	}
	return false
}

func keyed(fields []zapcore.Field) []zapcore.Field {
	given := make([]zapcore.Field, 0, len(fields)+1)
	workflow, entity := "", false
	for _, field := range fields {
		field.Key = logkey.Of(field.Key)
		given = append(given, field)
		switch field.Key {
		case logkey.WorkflowID:
			workflow = field.String
		case logkey.Kyma, logkey.Manifest:
			entity = true
		}
	}
	// kyma/<namespace>/<name>/<uid>
	parts := strings.Split(workflow, "/")
	if !entity && len(parts) == 4 && parts[0] == logkey.Kyma {
		given = append(given, zap.String(logkey.Kyma, parts[1]+"/"+parts[2]))
	}
	return given
}
