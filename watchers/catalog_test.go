package watchers

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
)

func TestATemplateOfAMandatoryModuleConcernsEveryKyma(t *testing.T) {
	meta := desiredtest.ReleaseMeta("warden")
	meta.Spec.Mandatory = &v1beta2.MandatoryVersion{Version: "1.0.0"}
	cluster := desiredtest.NewCluster("cp", meta)
	w := &watcher{reader: cluster}
	require.Contains(t, w.keysOfTemplate(context.Background(), desiredtest.Template("warden", "1.0.0")), desired.MandatoryKey)
	require.NotContains(t, w.keysOfTemplate(context.Background(), desiredtest.Template("keda", "1.0.0")), desired.MandatoryKey)
}

func TestAChangeOfTheChannelsColumnConcernsNoKyma(t *testing.T) {
	with := desiredtest.ReleaseMeta("keda", "regular=1.1.0")
	with.Annotations = map[string]string{shared.AnnotationChannels: "regular=1.1.0"}
	without := desiredtest.ReleaseMeta("keda", "regular=1.1.0")
	w := &watcher{Options: Options{Settings: desired.Settings{}.WithDefaults()}}
	require.False(t, w.changed(without, with))
}
