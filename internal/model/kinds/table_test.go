package kinds

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestTheTableOfKindsIsConsistent(t *testing.T) {
	t.Parallel()
	seen := map[schema.GroupKind]bool{}
	for row := range table {
		kind := schema.GroupKind{Group: row.group, Kind: row.kind}
		require.False(t, seen[kind], "%s is in the table twice", kind)
		seen[kind] = true
		builtIn, ok := BuiltIn(kind)
		require.True(t, ok, kind)
		require.Equal(t, row.facts, factsOf(kind), kind)

		require.Less(t, row.stage, stageCustomResources, "%s is not a custom resource", kind)
		require.Equal(t, kind == DefinitionKind(), row.stage == StageDefinitions, kind)
		require.Equal(t, row.stage == StageNamespaces, row.shared, kind)
		require.Equal(t, row.group == GroupAdmission || row.group == GroupAggregation, row.stage == StageAdmission, kind)
		if row.podSpec != noPodSpec {
			require.Equal(t, stageWorkloads, row.stage, "%s runs pods", kind)
			require.True(t, builtIn.Namespaced, kind)
		}
		if row.completes {
			require.True(t, RunsPods(kind), kind)
		}
		if row.existenceOnly {
			require.True(t, row.health, "%s must be read to see that it exists", kind)
		}
		require.Equal(t, row.usual, slices.Contains(Usual(), kind.WithVersion(builtIn.Version)), kind)
	}
	require.Len(t, seen, 44)
}

func TestKindsThatAreNotInTheTable(t *testing.T) {
	t.Parallel()
	for group, stage := range map[string]Stage{
		"": StageConfiguration, GroupApps: stageWorkloads, groupBatch: stageWorkloads, GroupAutoscaling: stageWorkloads,
		GroupAdmission: StageAdmission, GroupAggregation: StageAdmission, GroupExtensions: StageDefinitions,
		"policy": stageCustomResources, "example.com": stageCustomResources,
	} {
		kind := schema.GroupKind{Group: group, Kind: "Unknown"}
		require.Equal(t, stage, StageOf(kind), group)
		require.True(t, HealthMatters(kind), group)
		require.False(t, RunsPods(kind) || RunsToCompletion(kind) || IsShared(kind) || IsJob(kind), group)
		_, ok := PodSpecPath(kind)
		require.False(t, ok, group)
	}
}
