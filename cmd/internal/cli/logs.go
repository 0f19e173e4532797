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

// Formats of log lines (flag --log-format).
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

// NewLog returns a logger for lines at the given level and above, with the keys of package logkey.
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
	// As in zap's production configuration: of equal lines within a second, the first hundred and then each hundredth
	// are logged.
	sampled := zapcore.NewSamplerWithOptions(keyedCore{core}, time.Second, 100, 100)
	return zapr.NewLogger(zap.New(sampled, zap.AddCaller())), nil
}

// ParseLevel parses a level by name, or by number as in upstream. Number 0 logs the least.
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

// keyedCore renames the keys of libraries to those of package logkey, and adds the Kyma of a workflow.
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

// isOutrun reports whether a library logs an error because another process was faster. Processes that start at the same
// time all create the Lease, and two goroutines of one process create the webhook's certificate. The slower one
// retries, so this is no error.
func isOutrun(entry zapcore.Entry, fields []zapcore.Field) bool {
	if !slices.Contains([]string{"leaderelection", "cert-rotation"}, entry.LoggerName) {
		return false
	}
	// This line follows a failed refresh, which has its own line.
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
