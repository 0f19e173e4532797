package artifacts

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHooksAreReadInTheOrderInWhichTheyRun(t *testing.T) {
	t.Parallel()
	hook := func(kind, name, events, weight, policies string) entry {
		annotations := fmt.Sprintf("helm.sh/hook: %q", events)
		if weight != "" {
			annotations += fmt.Sprintf(", helm.sh/hook-weight: %q", weight)
		}
		if policies != "" {
			annotations += fmt.Sprintf(", helm.sh/hook-delete-policy: %q", policies)
		}
		return entry{
			name:    "templates/" + kind + "-" + name + ".yaml",
			content: fmt.Sprintf("apiVersion: v1\nkind: %s\nmetadata: {name: %s, annotations: {%s}}\n", kind, name, annotations),
		}
	}
	rendered, err := renderLayer(t, chartOf(
		entry{name: "templates/plain.yaml", content: configMapNamed("plain")},
		hook("Job", "check", "post-install", "", ""),
		hook("Job", "migrate", "pre-install, Pre-Upgrade", "5", "hook-succeeded,before-hook-creation"),
		hook("Job", "early", "pre-upgrade", "-3", "hook-failed"),
		hook("Job", "rights", "pre-install", "5", ""),
		hook("ServiceAccount", "rights", "pre-install", "5", ""),
		hook("Job", "both", "pre-install,post-upgrade", "many", ""),
		hook("Job", "bye", "pre-delete,post-delete", "", ""),
		hook("Job", "back", "post-rollback", "", ""),
		hook("Pod", "probe", "test", "", ""),
		hook("CustomResourceDefinition", "old", "crd-install", "", ""),
		hook("Job", "sweep", "post-install,pre-delete", "1", ""),
	), FormChart, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"plain"}, names(rendered))
	var got []string
	for _, h := range rendered.Hooks {
		got = append(got, fmt.Sprintf("%s %s before=%t install=%t upgrade=%t weight=%d delete=%t", h.Object.GetKind(), h.Object.GetName(),
			h.Before, h.Install, h.Upgrade, h.Weight, h.DeleteOnSuccess))
	}
	require.Equal(t, []string{
		"Job early before=true install=false upgrade=true weight=-3 delete=false",
		"Job both before=true install=true upgrade=false weight=0 delete=false",
		"Job migrate before=true install=true upgrade=true weight=5 delete=true",
		"ServiceAccount rights before=true install=true upgrade=false weight=5 delete=false",
		"Job rights before=true install=true upgrade=false weight=5 delete=false",
		"Job both before=false install=false upgrade=true weight=0 delete=false",
		"Job check before=false install=true upgrade=false weight=0 delete=false",
		"Job sweep before=false install=true upgrade=false weight=1 delete=false",
	}, got)
	require.Equal(t, []string{"CustomResourceDefinition old", "Job back", "Job bye", "Pod probe"}, rendered.LeftOut, "hooks that never run are named")
}
