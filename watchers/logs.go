package watchers

import (
	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"
)

// logsOf returns the logger constructor of a controller. Its log lines name the object of the request.
func logsOf[T any](mgr manager.Manager, controller string, about func(T) []any) func(*T) logr.Logger {
	log := mgr.GetLogger().WithValues(logkey.Controller, controller)
	return func(request *T) logr.Logger {
		if request == nil {
			return log
		}
		return log.WithValues(about(*request)...)
	}
}

func aboutKyma(req kymaRequest) []any {
	return []any{logkey.Kyma, req.String(), logkey.WorkflowID, kick.KymaWorkflowID(req.Ref)}
}

func aboutManifest(req manifestRequest) []any {
	return []any{logkey.Manifest, req.String()}
}
