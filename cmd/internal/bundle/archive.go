// Package bundle writes a support bundle: an archive for those who investigate why an instance does not do what it
// should.
//
// The archive has resources, workflows, histories, logs and metrics, bounded in size and time. Write writes it from
// Sources.
//
// The archive never contains a secret. The contents of Secrets are read only in order to redact them everywhere else.
// Every file goes through the redactor (redact.go).
package bundle

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strings"
	"time"
)

// archive is a .tar.gz with redacted and bounded files.
type archive struct {
	compressed *gzip.Writer
	files      *tar.Writer
	redact     *redactor
	folder     string
	now        time.Time
	// left is how many bytes may still be written, and most the maximum size of a file.
	left, most int64
	manifest   manifest
}

// manifest lists the contents of an archive, and what is missing with the reason.
type manifest struct {
	Version  string         `json:"version"`
	At       time.Time      `json:"at"`
	Files    map[string]int `json:"files"`
	Problems []string       `json:"problems,omitempty"`
}

func newArchive(out io.Writer, redact *redactor, version string, now time.Time, limits Limits) *archive {
	compressed := gzip.NewWriter(out)
	return &archive{
		compressed: compressed, files: tar.NewWriter(compressed), redact: redact, now: now, left: limits.Bytes, most: limits.FileBytes,
		folder:   "lifecycle-manager-" + now.UTC().Format("20060102-150405"),
		manifest: manifest{Version: version, At: now.UTC(), Files: map[string]int{}},
	}
}

// problem records what is missing in the archive.
func (a *archive) problem(format string, args ...any) {
	a.manifest.Problems = append(a.manifest.Problems, a.redact.text(fmt.Sprintf(format, args...)))
}

// add adds a text as a file. Of a text that is too long, it keeps the end, which is the newest part of a log.
func (a *archive) add(name, content string) error {
	content = a.redact.text(content)
	most := min(a.most, a.left)
	if int64(len(content)) > most {
		a.manifest.Problems = append(a.manifest.Problems, fmt.Sprintf("%s was cut: it has %d bytes, the limit is %d", name, len(content), most))
		content = strings.ToValidUTF8(content[int64(len(content))-most:], "")
	}
	if content == "" {
		return nil
	}
	a.left -= int64(len(content))
	a.manifest.Files[name] = len(content)
	return a.write(name, content)
}

// addJSON adds a value as a file.
func (a *archive) addJSON(name string, value any) error {
	encoded, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	return a.add(name, string(encoded)+"\n")
}

func (a *archive) write(name, content string) error {
	header := &tar.Header{Name: path.Join(a.folder, name), Mode: 0o600, Size: int64(len(content)), ModTime: a.now, Typeflag: tar.TypeReg}
	if err := a.files.WriteHeader(header); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if _, err := io.WriteString(a.files, content); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// close adds the manifest and ends the archive.
func (a *archive) close() error {
	encoded, err := json.MarshalIndent(a.manifest, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the manifest: %w", err)
	}
	if err := a.write("manifest.json", string(encoded)+"\n"); err != nil {
		return err
	}
	if err := a.files.Close(); err != nil {
		return fmt.Errorf("end the archive: %w", err)
	}
	return a.compressed.Close()
}
