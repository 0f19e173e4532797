package programs

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
			if strings.HasPrefix(binary.Package, "./") {
				require.DirExists(t, filepath.Join(group.folder(components), binary.Package))
				continue
			}
			require.Contains(t, tools, binary.Package, "go mod tidy drops what only this program needs")
		}
	}
}

func TestTheServerIsThatOfTheDevelopmentServer(t *testing.T) {
	components, err := Components("")
	require.NoError(t, err)
	versions := map[string]string{}
	for _, group := range []string{"temporal", "temporal-server"} {
		versions[group], err = Group{Name: group, Module: "go.temporal.io/server"}.pinned(components)
		require.NoError(t, err)
	}
	require.Equal(t, versions["temporal"], versions["temporal-server"])
}

func TestAFleetIsBuiltWithoutOptionalPrograms(t *testing.T) {
	components, err := Components("")
	require.NoError(t, err)
	builder := Builder{Components: components, Cache: t.TempDir()}
	_, tasks, err := builder.plan(t.Context())
	require.NoError(t, err)
	var needed, optional []string
	for _, task := range tasks {
		if task.optional {
			optional = append(optional, task.Name)
		} else {
			needed = append(needed, task.Name)
		}
	}
	require.Equal(t, []string{"kube-apiserver", "kube-controller-manager", "etcd", "temporal"}, needed)
	require.Equal(t, OptionalNames(), optional)
}

func TestTheCacheTellsBuildsApart(t *testing.T) {
	components := t.TempDir()
	group := Group{Name: "g", Binaries: []Binary{{Name: "b", Package: "./own", VersionVariables: []string{"v.V"}}}}
	require.NoError(t, os.MkdirAll(filepath.Join(components, "g", "own"), 0o700))
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
	write("own/main.go", "package main")
	first := key("v1.0.0", "go1.26.0")
	require.Equal(t, first, key("v1.0.0", "go1.26.0"))
	require.NotEqual(t, first, key("v1.0.1", "go1.26.0"))
	require.NotEqual(t, first, key("v1.0.0", "go1.26.1"))
	write("own/main.go", "package main // changed")
	second := key("v1.0.0", "go1.26.0")
	require.NotEqual(t, first, second)
	write("go.sum", "changed")
	require.NotEqual(t, second, key("v1.0.0", "go1.26.0"))
}

func TestReadyProgramsReplaceOnlyWhatTheyCan(t *testing.T) {
	assets := t.TempDir()
	for _, name := range []string{"etcd", "temporal"} {
		require.NoError(t, os.WriteFile(filepath.Join(assets, name), nil, 0o700))
	}
	builder := Builder{Assets: assets}
	path, found := builder.asset(Binary{Name: "etcd", Replaceable: true})
	require.True(t, found)
	require.Equal(t, filepath.Join(assets, "etcd"), path)
	_, found = builder.asset(Binary{Name: "kubectl", Replaceable: true})
	require.False(t, found, "it is not in the folder")
	_, found = builder.asset(Binary{Name: "temporal"})
	require.False(t, found, "the folder is about Kubernetes only")
	_, found = Builder{}.asset(Binary{Name: "etcd", Replaceable: true})
	require.False(t, found)
}
