package lifecycle

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

func TestAnUpgradeThatTakesSecondsIsRecordedOnceItIsDone(t *testing.T) {
	s := newEnvironment(t, moduleYAML, nil)
	s.installReady()
	to := func(version string) {
		s.update(func(m *v1beta2.Manifest) {
			m.Spec.Version = version
			m.Spec.Install.Source = s.layer(strings.Replace(moduleYAML, "key: value", "key: value of "+version, 1))
		})
	}
	quickly := func() install.Installed {
		all, err := s.activities.Install.InstallModules(t.Context(), install.ModulesInput{Manifests: []kick.Ref{s.ref()}})
		require.NoError(t, err)
		return all[0]
	}
	for _, version := range []string{"1.1.0", "1.2.0"} { // so that both are in the cache
		to(version)
		require.True(t, quickly().Later)
		s.report(s.ready(s.settle(s.apply())), true)
	}

	to("1.1.0")
	before := s.read()
	var applied atomic.Int32
	s.requests.intercept(func(r *http.Request) error {
		if r.Method == http.MethodPatch {
			applied.Add(1)
			now := &v1beta2.Manifest{}
			err := s.control.Get(r.Context(), s.ref().Key(), now)
			assert.True(t, err == nil && now.ResourceVersion == before.ResourceVersion, "nothing is recorded yet")
		}
		return nil
	})
	result := quickly()
	require.False(t, result.Later)
	require.Equal(t, int32(1), applied.Load())
	m := s.read()
	require.Equal(t, manifests.InputsDigest(m), m.Status.InputsDigest)
	require.Equal(t, m.Generation, m.Status.ObservedGeneration)
	require.Equal(t, "1.1.0", m.Status.InstalledVersion)
	require.Equal(t, shared.StateProcessing, m.Status.State, "nobody has read yet whether it is ready")
	require.False(t, m.Status.Settled)
	require.NotNil(t, result.Result.Kick, "the Kyma's status shows it")
	s.requests.intercept(nil)
	s.report(s.ready(s.settle(result.Result)), true)

	to("1.2.0")
	before = s.read()
	s.requests.intercept(func(r *http.Request) error {
		if r.Method == http.MethodPatch {
			return errors.New("the connection is lost")
		}
		return nil
	})
	require.True(t, quickly().Later)
	m = s.read()
	require.Equal(t, before.ResourceVersion, m.ResourceVersion)
	require.NotEqual(t, manifests.InputsDigest(m), m.Status.InputsDigest, "everybody sees that it is to be applied")
	s.requests.intercept(nil)
	require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome)
	require.Equal(t, "1.2.0", s.read().Status.InstalledVersion)
}

// With several modules, the results of the others would be lost with the local activity, and a reconcile in the background would
// keep an edit waiting.
func TestAModuleThatHangsIsGivenUpInTime(t *testing.T) {
	s := newEnvironment(t, moduleYAML, nil)
	s.installReady()
	s.update(func(m *v1beta2.Manifest) { m.Spec.Version = "1.1.0" })
	inTime := time.Now().Add(5 * time.Second)
	var asked atomic.Int32
	s.requests.intercept(func(r *http.Request) error {
		asked.Add(1)
		deadline, has := r.Context().Deadline()
		assert.True(t, has && deadline.Before(inTime), "%s would hang until %s", r.URL.Path, deadline)
		return errors.New("the connection is lost")
	})
	all, err := s.activities.Install.InstallModules(t.Context(), install.ModulesInput{Manifests: []kick.Ref{s.ref()}})
	require.NoError(t, err)
	require.True(t, all[0].Later)
	require.Positive(t, asked.Load())
}
