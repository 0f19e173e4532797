package forecast

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// stdin is the file name for standard input.
const stdin = "-"

// extensions returns the extensions of the files that are read from a folder, as in kubectl.
func extensions() []string { return []string{".yaml", ".yml", ".json"} }

// filesOf returns the files for these names. For a folder, it returns the files directly in it, ordered by name.
func filesOf(names []string) ([]string, error) {
	var files []string
	for _, name := range names {
		info, err := os.Stat(name)
		switch {
		case name == stdin:
			files = append(files, name)
			continue
		case err != nil:
			return nil, err
		case !info.IsDir():
			files = append(files, name)
			continue
		}
		entries, err := os.ReadDir(name)
		if err != nil {
			return nil, err
		}
		before := len(files)
		for _, entry := range entries {
			if !entry.IsDir() && slices.Contains(extensions(), filepath.Ext(entry.Name())) {
				files = append(files, filepath.Join(name, entry.Name()))
			}
		}
		if len(files) == before {
			return nil, fmt.Errorf("%s has no file with one of the extensions %v", name, extensions())
		}
	}
	return files, nil
}
