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

// baseFiles are what programs expect of a system. They are the same for all programs and platforms, and so is the layer
// of them, which nodes have only once.
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

// home is the folder of the user.
const home = "home/nonroot"

// authorities are the certificate authorities that Mozilla trusts, as Go's module of them has them. One whose newer
// certificates are not trusted is left out: a file of certificates has no place for that restriction.
func authorities() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			out.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return out.Bytes()
}

// timeZones are those of Go's own archive, as files where every program looks for them. Linked into a program
// (time/tzdata), they would be in it wherever it runs, and others could not use them.
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
