package harness

import (
	"strings"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// BecomesReady waits until the Kyma is Ready with exactly these modules, as name@version.
func (s *Environment) BecomesReady(name string, modules ...string) {
	s.T.Helper()
	s.Eventually("Kyma "+name+" becomes Ready", 2*time.Minute, func(c *assert.CollectT) {
		var kyma v1beta2.Kyma
		require.NoError(c, s.ControlPlane.Get(s.T.Context(), client.ObjectKey{Namespace: ControlPlaneNamespace, Name: name}, &kyma))
		var have []string
		for _, m := range kyma.Status.Modules {
			have = append(have, m.Name+"@"+m.Version)
			assert.Equal(c, shared.StateReady, m.State, "module %s: %s", m.Name, m.Message)
		}
		assert.ElementsMatch(c, modules, have)
		assert.Equal(c, shared.StateReady, kyma.Status.State, "%+v", kyma.Status.LastOperation)
	})
}

// ReadyAmongOthers waits until one module is Ready, whatever the others are.
func (s *Environment) ReadyAmongOthers(kyma, module, version string) {
	s.T.Helper()
	s.Eventually("module "+module+" becomes Ready in version "+version, 2*time.Minute, func(c *assert.CollectT) {
		found := s.Module(kyma, module)
		assert.Equal(c, shared.StateReady, found.State, found.Message)
		assert.Equal(c, version, found.Version)
	})
}

// Module is a module in the status of the Kyma.
func (s *Environment) Module(kyma, module string) v1beta2.ModuleStatus {
	s.T.Helper()
	return ModulesByName(s.Kyma(kyma).Status.Modules)[module]
}

// ModulesByName are modules of a Kyma's status by their names.
func ModulesByName(modules []v1beta2.ModuleStatus) map[string]v1beta2.ModuleStatus {
	named := map[string]v1beta2.ModuleStatus{}
	for _, module := range modules {
		named[module.Name] = module
	}
	return named
}

// SaysError waits until the Kyma is in Error with this message, and its conditions agree.
func (s *Environment) SaysError(name, message string) {
	s.T.Helper()
	s.Eventually("Kyma "+name+" says: "+message, 2*time.Minute, func(c *assert.CollectT) {
		status := s.Kyma(name).Status
		assert.Equal(c, shared.StateError, status.State)
		if assert.NotNil(c, status.LastOperation) {
			assert.Contains(c, status.LastOperation.Operation, message)
		}
		assert.False(c, meta.IsStatusConditionTrue(status.Conditions, string(shared.ConditionModules)))
		assert.True(c, meta.IsStatusConditionFalse(status.Conditions, string(shared.ConditionCRDsSync)))
	})
}

// Warns waits until there is such a warning Event on an object: Events are written asynchronously.
func (s *Environment) Warns(object client.Object, reason, message string) {
	s.T.Helper()
	s.Eventually("an Event warns: "+message, 2*time.Minute, func(c *assert.CollectT) {
		assert.Contains(c, strings.Join(s.Warnings(object)[reason], "\n"), message)
	})
}

// Warnings are the messages of the Events on an object, by reason.
func (s *Environment) Warnings(object client.Object) map[string][]string {
	s.T.Helper()
	var events corev1.EventList
	require.NoError(s.T, s.ControlPlane.List(s.T.Context(), &events, client.InNamespace(object.GetNamespace())))
	messages := map[string][]string{}
	for _, event := range events.Items {
		if event.InvolvedObject.UID == object.GetUID() && event.Type == corev1.EventTypeWarning {
			messages[event.Reason] = append(messages[event.Reason], event.Message)
		}
	}
	return messages
}
