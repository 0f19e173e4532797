package artifacts

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// disk keeps layers in a folder that several workers may share. It is an optimization: any error counts as a cache
// miss. A nil disk keeps nothing.
type disk struct {
	folder string
	budget int64
}

// layerFile returns the file name of a layer, from its key and the sum of its content.
func layerFile(key, sum string) string {
	of := sha256.Sum256([]byte(key))
	return sum + "-" + hex.EncodeToString(of[:8])
}

// read returns a layer if its content matches its sum. It never returns a truncated file.
func (d *disk) read(key, sum string) ([]byte, bool) {
	if d == nil {
		return nil, false
	}
	path := filepath.Join(d.folder, layerFile(key, sum))
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, false
	}
	if got := sha256.Sum256(content); hex.EncodeToString(got[:]) != sum {
		_ = os.Remove(path)
		return nil, false
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now)
	return content, true
}

// write stores verified content in a temporary file and renames it, so that other workers see either the whole file or
// none. It does not sync the file before the rename: read finds out if a power failure damaged it.
func (d *disk) write(name string, content []byte) {
	if d == nil {
		return
	}
	file, err := os.CreateTemp(d.folder, ".partial-*")
	if err != nil {
		return
	}
	temporary := file.Name()
	_, err = file.Write(content)
	if closeErr := file.Close(); err != nil || closeErr != nil {
		_ = os.Remove(temporary)
		return
	}
	if err := os.Rename(temporary, filepath.Join(d.folder, name)); err != nil {
		_ = os.Remove(temporary)
		return
	}
	d.trim()
}

// remember stores content that has a name instead of a digest. It writes the digest before the content, so that recall
// can verify the content too.
func (d *disk) remember(name string, content []byte) {
	sum := sha256.Sum256(content)
	d.write(named(name), append([]byte(hex.EncodeToString(sum[:])), content...))
}

// recall returns the content that remember stored under a name.
func (d *disk) recall(name string) ([]byte, bool) {
	if d == nil {
		return nil, false
	}
	stored, err := os.ReadFile(filepath.Join(d.folder, named(name)))
	if err != nil || len(stored) < hex.EncodedLen(sha256.Size) {
		return nil, false
	}
	sum, content := stored[:hex.EncodedLen(sha256.Size)], stored[hex.EncodedLen(sha256.Size):]
	if got := sha256.Sum256(content); hex.EncodeToString(got[:]) != string(sum) {
		return nil, false
	}
	return content, true
}

func named(name string) string {
	sum := sha256.Sum256([]byte(name))
	return "named-" + hex.EncodeToString(sum[:])
}

// trim removes the least recently used files until the rest is within the budget. It also removes partial files of
// killed processes.
func (d *disk) trim() {
	entries, err := os.ReadDir(d.folder)
	if err != nil {
		return
	}
	var files []os.FileInfo
	var total int64
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if info.Name()[0] == '.' {
			if time.Since(info.ModTime()) > time.Hour {
				_ = os.Remove(filepath.Join(d.folder, info.Name()))
			}
			continue
		}
		files = append(files, info)
		total += info.Size()
	}
	slices.SortFunc(files, func(a, b os.FileInfo) int { return cmp.Compare(a.ModTime().UnixNano(), b.ModTime().UnixNano()) })
	for _, file := range files {
		if total <= d.budget {
			return
		}
		if os.Remove(filepath.Join(d.folder, file.Name())) == nil {
			total -= file.Size()
		}
	}
}
