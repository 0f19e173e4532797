package build

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/mod/modfile"
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

// key names the folder of the group's programs in the cache. It differs when
// anything differs that goes into them: versions, checksums, Go, platform, the
// way they are built.
func (g Group) key(components, version, goVersion string) (string, error) {
	hash := sha256.New()
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(g.folder(components), name))
		if err != nil {
			return "", fmt.Errorf("read the versions of %s: %w", g.Name, err)
		}
		_, _ = fmt.Fprintf(hash, "%s %d\n%s", name, len(data), data)
	}
	_, _ = fmt.Fprintf(hash, "%s %s %s\n", goVersion, runtime.GOOS, runtime.GOARCH)
	for _, binary := range g.Binaries {
		_, _ = fmt.Fprintf(hash, "%s %q\n", binary.Name, binary.arguments(version, ""))
	}
	for _, file := range g.Files {
		_, _ = fmt.Fprintf(hash, "%s %q\n", file.Name, file.Sources)
		for _, name := range file.Own {
			data, err := os.ReadFile(filepath.Join(g.folder(components), name))
			if err != nil {
				return "", fmt.Errorf("read what %s of %s is made of: %w", file.Name, g.Name, err)
			}
			_, _ = fmt.Fprintf(hash, "%s %d\n%s", name, len(data), data)
		}
	}
	return g.Name + "-" + version + "-" + hex.EncodeToString(hash.Sum(nil))[:12], nil
}

// arguments are those of the go command that builds the binary.
func (b Binary) arguments(version, output string) []string {
	if b.TrimV {
		version = strings.TrimPrefix(version, "v")
	}
	link := []string{"-s", "-w"}
	for _, variable := range b.VersionVariables {
		link = append(link, "-X", variable+"="+version)
	}
	return []string{
		"build", "-mod=readonly", "-buildvcs=false",
		"-ldflags", strings.Join(link, " "), "-o", output, b.Package,
	}
}

// install moves a finished file to its place in one step.
func install(temporary, target string, mode os.FileMode) error {
	if err := os.Chmod(temporary, mode); err != nil {
		return fmt.Errorf("install %s: %w", target, err)
	}
	if err := os.Rename(temporary, target); err != nil {
		return fmt.Errorf("install %s: %w", target, err)
	}
	return nil
}

// join writes the documents of the sources as one YAML file.
func join(target io.Writer, folder string, sources []string) error {
	for _, source := range sources {
		data, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(source)))
		if err != nil {
			return fmt.Errorf("read %s: %w", source, err)
		}
		if _, err := fmt.Fprintf(target, "---\n%s\n", data); err != nil {
			return fmt.Errorf("copy %s: %w", source, err)
		}
	}
	return nil
}
