package cli

import (
	"github.com/go-logr/logr"
	"github.com/go-logr/zapr"
	"go.temporal.io/sdk/log"
	"go.uber.org/zap"
)

// TemporalLog returns a logger of New for the Temporal SDK. It does not use slog, because keys could then not be renamed.
func TemporalLog(through logr.Logger) log.Logger {
	if underlying, ok := through.GetSink().(zapr.Underlier); ok {
		return temporalLogger{underlying.GetUnderlying().WithOptions(zap.AddCallerSkip(1)).Sugar()}
	}
	return temporalLogger{zap.NewNop().Sugar()}
}

type temporalLogger struct{ sugared *zap.SugaredLogger }

var (
	_ log.WithLogger      = temporalLogger{}
	_ log.WithSkipCallers = temporalLogger{}
)

// Debug implements log.Logger.
func (l temporalLogger) Debug(message string, pairs ...any) { l.sugared.Debugw(message, pairs...) }

// Info implements log.Logger.
func (l temporalLogger) Info(message string, pairs ...any) { l.sugared.Infow(message, pairs...) }

// Warn implements log.Logger.
func (l temporalLogger) Warn(message string, pairs ...any) { l.sugared.Warnw(message, pairs...) }

// Error implements log.Logger.
func (l temporalLogger) Error(message string, pairs ...any) { l.sugared.Errorw(message, pairs...) }

// With implements log.WithLogger.
func (l temporalLogger) With(pairs ...any) log.Logger {
	return temporalLogger{l.sugared.With(pairs...)}
}

// WithCallerSkip implements log.WithSkipCallers.
func (l temporalLogger) WithCallerSkip(skip int) log.Logger {
	return temporalLogger{l.sugared.WithOptions(zap.AddCallerSkip(skip))}
}
