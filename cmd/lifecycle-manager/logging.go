package main

import (
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	"go.uber.org/zap/zapcore"
)

// slogFrom lets the Temporal SDK log through the same logger.
func slogFrom(log logr.Logger) *slog.Logger { return slog.New(logr.ToSlogHandler(log)) }

func isoTime(t time.Time, enc zapcore.PrimitiveArrayEncoder) {
	enc.AppendString(t.UTC().Format("2006-01-02T15:04:05.000Z"))
}
