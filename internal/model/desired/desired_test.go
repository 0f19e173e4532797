package desired_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
)

func ptr[T any](v T) *T { return &v }

func TestTheSynchronizationOfAKyma(t *testing.T) {
	single := desired.Settings{Mode: desired.ModeSingleCluster}
	tests := []struct {
		name     string
		settings desired.Settings
		sync     *v1beta2.Sync
		recorded *v1beta2.RemoteStatus
		want     desired.Sync
	}{
		{
			name: "without spec.sync the mode switches it on, and flags name the place",
			want: desired.Sync{
				Enabled: true, Generation: v1beta2.SyncGenerationDefault, Strategy: "local-secret",
				Name: "default", Namespace: "kyma-system", CopyModules: true, Catalog: true,
			},
		},
		{
			name: "without spec.sync single-cluster mode leaves it off", settings: single,
			want: desired.Sync{
				Enabled: false, Generation: v1beta2.SyncGenerationDefault, Strategy: "local-secret",
				Name: "default", Namespace: "kyma-system", CopyModules: true, Catalog: true,
			},
		},
		{
			name: "flags name another place", settings: desired.Settings{SyncNamespace: "elsewhere", RemoteKymaName: "mine"},
			want: desired.Sync{
				Enabled: true, Generation: v1beta2.SyncGenerationDefault, Strategy: "local-secret",
				Name: "mine", Namespace: "elsewhere", CopyModules: true, Catalog: true,
			},
		},
		{
			name: "an empty spec.sync switches it off, and keeps name and namespace", sync: &v1beta2.Sync{},
			want: desired.Sync{
				Enabled: false, Generation: v1beta2.SyncGenerationExplicit, Strategy: "local-secret",
				Name: "kyma-sample", Namespace: "kcp-system", CopyModules: false, Catalog: true,
			},
		},
		{
			name: "spec.sync switches it on in single-cluster mode too, and names a namespace", settings: single,
			sync: &v1beta2.Sync{Enabled: ptr(true), Namespace: "sync-ns", NoModuleCopy: ptr(false), ModuleCatalog: ptr(false)},
			want: desired.Sync{
				Enabled: true, Generation: v1beta2.SyncGenerationExplicit, Strategy: "local-secret",
				Name: "kyma-sample", Namespace: "sync-ns", CopyModules: true, Catalog: false,
			},
		},
		{
			name: "the alias of the default strategy is the default strategy",
			sync: &v1beta2.Sync{Enabled: ptr(true), Strategy: v1beta2.SyncStrategySecret},
			want: desired.Sync{
				Enabled: true, Generation: v1beta2.SyncGenerationExplicit, Strategy: "local-secret",
				Name: "kyma-sample", Namespace: "kcp-system", Catalog: true,
			},
		},
		{
			name: "the recorded place stays until the move to the place in the spec",
			sync: &v1beta2.Sync{Enabled: ptr(true), Namespace: "new-ns"},
			recorded: &v1beta2.RemoteStatus{
				Name: "default", Namespace: "kyma-system", Generation: v1beta2.SyncGenerationDefault, Cluster: "remote-uid",
			},
			want: desired.Sync{
				Enabled: true, Generation: v1beta2.SyncGenerationDefault, Strategy: "local-secret",
				Name: "default", Namespace: "kyma-system", Catalog: true,
				MoveTo: &desired.Place{Name: "kyma-sample", Namespace: "new-ns", Generation: v1beta2.SyncGenerationExplicit},
			},
		},
		{
			name:     "nothing moves while synchronization is switched off",
			sync:     &v1beta2.Sync{Enabled: ptr(false), Namespace: "new-ns"},
			recorded: &v1beta2.RemoteStatus{Name: "default", Namespace: "kyma-system", Generation: v1beta2.SyncGenerationDefault, Cluster: "remote-uid"},
			want: desired.Sync{
				Generation: v1beta2.SyncGenerationDefault, Strategy: "local-secret",
				Name: "default", Namespace: "kyma-system", Catalog: true,
			},
		},
		{
			name:     "an unreachable cluster does not fix the place",
			sync:     &v1beta2.Sync{Enabled: ptr(true), Namespace: "new-ns"},
			recorded: &v1beta2.RemoteStatus{Name: "default", Namespace: "kyma-system", Generation: v1beta2.SyncGenerationDefault},
			want: desired.Sync{
				Enabled: true, Generation: v1beta2.SyncGenerationExplicit, Strategy: "local-secret",
				Name: "kyma-sample", Namespace: "new-ns", Catalog: true,
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			kyma := desiredtest.Kyma()
			kyma.Spec.Sync, kyma.Status.Remote = test.sync, test.recorded
			require.Equal(t, test.want, desired.SyncOf(kyma, test.settings))
		})
	}
}

func TestTheWantedModules(t *testing.T) {
	on := &v1beta2.Sync{Enabled: ptr(true)}
	tests := []struct {
		name         string
		settings     desired.Settings
		kyma         func() *v1beta2.Kyma
		wantComplete bool
		wantChannel  string
		modules      map[string]string // name to channel
	}{
		{
			name: "the wanted modules are incomplete before the remote Kyma was accepted",
			kyma: func() *v1beta2.Kyma { return desiredtest.Kyma("keda") }, wantChannel: "regular",
			modules: map[string]string{"keda": ""},
		},
		{
			name: "in a single cluster the spec decides", settings: desired.Settings{Mode: desired.ModeSingleCluster},
			kyma: func() *v1beta2.Kyma { return desiredtest.Kyma("keda", "btp") }, wantComplete: true, wantChannel: "regular",
			modules: map[string]string{"keda": "", "btp": ""},
		},
		{
			name: "an empty channel is regular", settings: desired.Settings{Mode: desired.ModeSingleCluster},
			kyma: func() *v1beta2.Kyma {
				k := desiredtest.Kyma()
				k.Spec.Channel = ""
				return k
			}, wantComplete: true, wantChannel: "regular", modules: map[string]string{},
		},
		{
			name: "without spec.sync the remote Kyma alone decides once it was accepted",
			kyma: func() *v1beta2.Kyma {
				return desiredtest.Accepted(desiredtest.Kyma("keda"), v1beta2.SyncGenerationDefault, "fast", v1beta2.Module{Name: "btp"})
			}, wantComplete: true, wantChannel: "fast", modules: map[string]string{"btp": ""},
		},
		{
			name: "a remote Kyma without modules wants none",
			kyma: func() *v1beta2.Kyma {
				return desiredtest.Accepted(desiredtest.Kyma("keda"), v1beta2.SyncGenerationDefault, "fast")
			}, wantComplete: true, wantChannel: "fast", modules: map[string]string{},
		},
		{
			name: "with spec.sync both sides count, and the remote entry decides if both list a module",
			kyma: func() *v1beta2.Kyma {
				k := desiredtest.Accepted(desiredtest.Kyma("keda", "serverless"), v1beta2.SyncGenerationExplicit, "fast",
					v1beta2.Module{Name: "keda", Channel: "alpha"}, v1beta2.Module{Name: "btp"})
				k.Spec.Sync = on
				k.Spec.Modules[0].Channel = "regular"
				return k
			}, wantComplete: true, wantChannel: "fast", modules: map[string]string{"keda": "alpha", "serverless": "", "btp": ""},
		},
		{
			name: "switching synchronization off keeps the modules of the remote side",
			kyma: func() *v1beta2.Kyma {
				k := desiredtest.Accepted(desiredtest.Kyma("keda"), v1beta2.SyncGenerationDefault, "fast", v1beta2.Module{Name: "btp"})
				k.Spec.Sync = &v1beta2.Sync{Enabled: ptr(false)}
				return k
			}, wantComplete: true, wantChannel: "fast", modules: map[string]string{"keda": "", "btp": ""},
		},
		{
			name: "restarting in the wrong mode keeps them too", settings: desired.Settings{Mode: desired.ModeSingleCluster},
			kyma: func() *v1beta2.Kyma {
				return desiredtest.Accepted(desiredtest.Kyma(), v1beta2.SyncGenerationDefault, "fast", v1beta2.Module{Name: "btp"})
			}, wantComplete: true, wantChannel: "fast", modules: map[string]string{"btp": ""},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			kyma := test.kyma()
			wanted := desired.WantedBy(kyma, desired.SyncOf(kyma, test.settings))
			require.Equal(t, test.wantComplete, wanted.Complete)
			require.Equal(t, test.wantChannel, wanted.Channel)
			channels := map[string]string{}
			for _, module := range wanted.Modules {
				channels[module.Name] = module.Channel
			}
			require.Equal(t, test.modules, channels)
			require.Len(t, wanted.Modules, len(test.modules), "each module is listed once")
		})
	}
}

func TestInvalidRemoteModulesAreRefusedWithAReason(t *testing.T) {
	require.Empty(t, desired.CheckRemote("fast", []v1beta2.Module{{Name: "keda"}, {Name: "btp", Version: "1.0.0"}}))
	for problem, modules := range map[string][]v1beta2.Module{
		"a module without name is listed":                     {{}},
		"module keda is listed twice":                         {{Name: "keda"}, {Name: "keda"}},
		"module keda: channel and version exclude each other": {{Name: "keda", Channel: "fast", Version: "1.0.0"}},
		`module keda: the channel name "none" is reserved`:    {{Name: "keda", Channel: "none"}},
		"257 modules are listed, the limit is 256":            make([]v1beta2.Module, 257),
	} {
		require.Equal(t, problem, desired.CheckRemote("fast", modules))
	}
	require.Equal(t, `the channel name "none" is reserved`, desired.CheckRemote("none", nil))
}
