package programs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/kyma-project/lifecycle-manager/test/build/compile"
)

// DefaultCache is the folder of built programs, lifecycle-manager-fleet in the
// user's cache folder ($XDG_CACHE_HOME or ~/.cache on Linux).
func DefaultCache() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a place for built programs (set XDG_CACHE_HOME or --cache-dir): %w", err)
	}
	return filepath.Join(base, "lifecycle-manager-fleet"), nil
}

// DefaultBuilder returns a Builder with the default folders.
func DefaultBuilder(say func(line string)) (Builder, error) {
	cache, err := DefaultCache()
	if err != nil {
		return Builder{}, err
	}
	components, err := Components("")
	if err != nil {
		return Builder{}, err
	}
	return Builder{Components: components, Cache: cache, Assets: os.Getenv("KUBEBUILDER_ASSETS"), Say: say}, nil
}

// Components finds the folder of the pinned component modules: the one that was
// asked for, else that of the repository in whose bin folder this program is,
// else that of the repository around the working folder.
func Components(asked string) (string, error) {
	candidates := []string{asked}
	if asked == "" {
		candidates = nil
		for _, near := range []func() (string, error){os.Executable, os.Getwd} {
			place, err := near()
			if err != nil {
				return "", fmt.Errorf("find the folder of the fleet's component modules: %w", err)
			}
			for ; filepath.Dir(place) != place; place = filepath.Dir(place) {
				candidates = append(candidates, filepath.Join(place, "test", "fleet", "components"))
			}
		}
	}
	for _, candidate := range candidates {
		if _, err := os.Stat(filepath.Join(candidate, "kubernetes", "go.mod")); err == nil {
			return filepath.Abs(candidate)
		}
	}
	return "", fmt.Errorf("find the folder of the fleet's component modules, tried %s: set --components-dir",
		strings.Join(candidates, ", "))
}

// pinned is the version of the group's module as its go.mod requires it.
func (g Group) pinned(components string) (string, error) {
	path := filepath.Join(g.folder(components), "go.mod")
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the versions of %s: %w", g.Name, err)
	}
	file, err := modfile.Parse(path, data, nil)
	if err != nil {
		return "", fmt.Errorf("read the versions of %s: %w", g.Name, err)
	}
	for _, require := range file.Require {
		if require.Mod.Path == g.Module {
			return require.Mod.Version, nil
		}
	}
	return "", fmt.Errorf("%s does not require %s", path, g.Module)
}

// key names the folder of the group's programs in the cache. It differs when anything differs that goes into them:
// versions, checksums, sources of ours, Go, platform, the way they are built.
func (g Group) key(components, version, goVersion string) (string, error) {
	hash := sha256.New()
	names := []string{"go.mod", "go.sum"}
	own, err := filepath.Glob(filepath.Join(g.folder(components), "*", "*.go"))
	if err != nil {
		return "", fmt.Errorf("find the sources of %s: %w", g.Name, err)
	}
	for _, path := range own {
		names = append(names, strings.TrimPrefix(path, g.folder(components)))
	}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(g.folder(components), name))
		if err != nil {
			return "", fmt.Errorf("read what %s is made of: %w", g.Name, err)
		}
		_, _ = fmt.Fprintf(hash, "%s %d\n%s", name, len(data), data)
	}
	_, _ = fmt.Fprintf(hash, "%s %s %s %s\n", goVersion, runtime.GOOS, runtime.GOARCH, compile.Flags)
	for _, binary := range g.Binaries {
		_, _ = fmt.Fprintf(hash, "%s %s %q\n", binary.Name, binary.Package, binary.variables(version))
	}
	return g.Name + "-" + version + "-" + hex.EncodeToString(hash.Sum(nil))[:12], nil
}

// variables are what the linker sets in the binary.
func (b Binary) variables(version string) map[string]string {
	if b.TrimV {
		version = strings.TrimPrefix(version, "v")
	}
	variables := map[string]string{}
	for _, variable := range b.VersionVariables {
		variables[variable] = version
	}
	return variables
}
