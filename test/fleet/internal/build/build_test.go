package build

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"
)

func TestEachGroupPinsAllThatIsBuiltOfIt(t *testing.T) {
	components, err := Components("")
	require.NoError(t, err)
	for _, group := range Groups() {
		version, err := group.pinned(components)
		require.NoError(t, err)
		require.NotEmpty(t, version)
		data, err := os.ReadFile(filepath.Join(group.folder(components), "go.mod"))
		require.NoError(t, err)
		file, err := modfile.Parse("go.mod", data, nil)
		require.NoError(t, err)
		var tools []string
		for _, tool := range file.Tool {
			tools = append(tools, tool.Path)
		}
		for _, binary := range group.Binaries {
			require.Contains(t, tools, binary.Package, "go mod tidy drops what only this program needs")
		}
	}
}

func TestTheServerIsThatOfTheDevelopmentServer(t *testing.T) {
	components, err := Components("")
	require.NoError(t, err)
	versions := map[string]string{}
	for _, group := range []string{"temporal", TemporalServer} {
		versions[group], err = Group{Name: group, Module: "go.temporal.io/server"}.pinned(components)
		require.NoError(t, err)
	}
	require.Equal(t, versions["temporal"], versions[TemporalServer])
}

func TestAFleetIsBuiltWithoutOptionalGroups(t *testing.T) {
	components, err := Components("")
	require.NoError(t, err)
	builder := Builder{Components: components, Cache: t.TempDir()}
	_, paths, err := builder.plan(t.Context())
	require.NoError(t, err)
	require.Contains(t, paths, "temporal")
	require.NotContains(t, paths, TemporalServer)
	builder.Optional = []string{TemporalServer}
	_, paths, err = builder.plan(t.Context())
	require.NoError(t, err)
	require.Contains(t, paths, TemporalServer)
	require.Contains(t, paths, "temporal-sql-tool")
}

func TestTheCacheTellsBuildsApart(t *testing.T) {
	components := t.TempDir()
	group := Group{Name: "g", Binaries: []Binary{{Name: "b", Package: "example.com/b", VersionVariables: []string{"v.V"}}}}
	group.Files = []File{{Name: "f", Own: []string{"own.yaml"}}}
	require.NoError(t, os.MkdirAll(filepath.Join(components, "g"), 0o700))
	write := func(name, content string) {
		require.NoError(t, os.WriteFile(filepath.Join(components, "g", name), []byte(content), 0o600))
	}
	key := func(version, goVersion string) string {
		key, err := group.key(components, version, goVersion)
		require.NoError(t, err)
		return key
	}
	write("go.mod", "module g")
	write("go.sum", "")
	write("own.yaml", "")
	first := key("v1.0.0", "go1.26.0")
	require.Equal(t, first, key("v1.0.0", "go1.26.0"))
	require.NotEqual(t, first, key("v1.0.1", "go1.26.0"))
	require.NotEqual(t, first, key("v1.0.0", "go1.26.1"))
	write("own.yaml", "changed")
	second := key("v1.0.0", "go1.26.0")
	require.NotEqual(t, first, second)
	write("go.sum", "changed")
	require.NotEqual(t, second, key("v1.0.0", "go1.26.0"))
}

func TestReadyProgramsReplaceOnlyWhatTheyCan(t *testing.T) {
	assets := t.TempDir()
	for _, name := range []string{"etcd", "kwok"} {
		require.NoError(t, os.WriteFile(filepath.Join(assets, name), nil, 0o700))
	}
	builder := Builder{Assets: assets}
	path, found := builder.asset(Binary{Name: "etcd", Replaceable: true})
	require.True(t, found)
	require.Equal(t, filepath.Join(assets, "etcd"), path)
	_, found = builder.asset(Binary{Name: "kubectl", Replaceable: true})
	require.False(t, found, "it is not in the folder")
	_, found = builder.asset(Binary{Name: "kwok"})
	require.False(t, found, "the folder is about Kubernetes only")
	_, found = Builder{}.asset(Binary{Name: "etcd", Replaceable: true})
	require.False(t, found)
}

func TestTheNodeBeatsWithoutLeases(t *testing.T) {
	// KWOK has two stages for this. The other one beats every ten minutes, since
	// it goes with leases, and the fleet has none.
	var beats []string
	for _, group := range Groups() {
		for _, file := range group.Files {
			for _, source := range file.Sources {
				if strings.Contains(source, "heartbeat") {
					beats = append(beats, filepath.Base(source))
				}
			}
		}
	}
	require.Equal(t, []string{"node-heartbeat.yaml"}, beats)
}
