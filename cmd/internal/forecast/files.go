package forecast

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// stdin is the name that stands for what comes in.
const stdin = "-"

// extensions are those of the files that are read of a folder, as kubectl does.
func extensions() []string { return []string{".yaml", ".yml", ".json"} }

// filesOf are the files that names stand for: of a folder those directly in it, in the order of their names.
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
			return nil, fmt.Errorf("%s has no file that ends with one of %v", name, extensions())
		}
	}
	return files, nil
}
