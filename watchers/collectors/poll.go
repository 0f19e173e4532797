package collectors

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kyma-project/lifecycle-manager/activities/logkey"
)

const (
	// pollEvery is how long after one answer what no informer knows is asked for again, and pollWithin bounds that.
	pollEvery, pollWithin = time.Minute, 30 * time.Second
)

// poll asks at once, and again and again until ctx is done. What could not be learned is logged as this message.
func poll(ctx context.Context, log logr.Logger, message string, ask func(context.Context) error) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		within, cancel := context.WithTimeout(ctx, pollWithin)
		defer cancel()
		if err := ask(within); err != nil && ctx.Err() == nil {
			log.V(1).Info(message, logkey.Error, err.Error())
		}
	}, pollEvery)
}
