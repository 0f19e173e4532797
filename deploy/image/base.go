package main

import (
	"archive/zip"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// baseFiles returns the files that programs expect on a system. They are the same for all programs and platforms, so
// all images share their layer and a node stores it only once.
func baseFiles(goRoot string) ([]file, error) {
	files := []file{
		{path: "etc/passwd", mode: readable, content: fmt.Appendf(nil, "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:%[1]d:%[1]d:nonroot:%[2]s:/sbin/nologin\n", nonRoot, "/"+home)},
		{path: "etc/group", mode: readable, content: fmt.Appendf(nil, "root:x:0:\nnonroot:x:%d:\n", nonRoot)},
		{path: "etc/ssl/certs/ca-certificates.crt", mode: readable, content: authorities()},
		{path: "tmp/", mode: everyones},
		{path: home + "/", mode: 0o700, owner: nonRoot},
	}
	zones, err := timeZones(filepath.Join(goRoot, "lib", "time", "zoneinfo.zip"))
	return append(files, zones...), err
}

// home is the user's home folder.
const home = "home/nonroot"

// authorities returns the certificate authorities that Mozilla trusts, from golang.org/x/crypto/x509roots. It skips an
// authority if newer certificates of it are not trusted, because a certificate file cannot express this restriction.
func authorities() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			out.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return out.Bytes()
}

// timeZones returns the time zones of Go's own archive, as files where every program expects them. The alternative,
// linking them into the program (time/tzdata), would make the program larger everywhere, and other programs could not
// use them.
func timeZones(archive string) ([]file, error) {
	reader, err := zip.OpenReader(archive)
	if err != nil {
		return nil, fmt.Errorf("read the time zones: %w", err)
	}
	defer func() { _ = reader.Close() }()
	var files []file
	for _, zone := range reader.File {
		if strings.HasSuffix(zone.Name, "/") {
			continue
		}
		content, err := unzip(zone)
		if err != nil {
			return nil, fmt.Errorf("read the time zone %s: %w", zone.Name, err)
		}
		files = append(files, file{path: "usr/share/zoneinfo/" + zone.Name, mode: readable, content: content})
	}
	return files, nil
}

func unzip(f *zip.File) ([]byte, error) {
	reader, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = reader.Close() }()
	return io.ReadAll(reader)
}
