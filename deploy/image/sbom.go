package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/spdx/v2/common"
)

const noAssertion = "NOASSERTION"

// newSBOM returns the content of an image as an SPDX document: the modules in the program's build information
// (debug/buildinfo), and the content of the base layer. The build information lists what was linked, not what go.mod
// requires. The document has no licenses of modules, because a program does not know them.
func newSBOM(p program, platform v1.Platform, r release, binary []byte) ([]byte, error) {
	info, err := buildinfo.Read(bytes.NewReader(binary))
	if err != nil {
		return nil, fmt.Errorf("read the build information of %s: %w", p.name, err)
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(binary))
	var out bytes.Buffer
	if err := spdxjson.Write(document(p, platform, r, info, sum), &out, spdxjson.Indent(" ")); err != nil {
		return nil, fmt.Errorf("write the SBOM of %s: %w", p.name, err)
	}
	return out.Bytes(), nil
}

func document(p program, platform v1.Platform, r release, info *debug.BuildInfo, sum string) *spdx.Document {
	own := goModule("Program", p.importPath(), r.version)
	own.PackageChecksums = []common.Checksum{{Algorithm: common.SHA256, Value: sum}}
	own.PackageFileName = p.path()
	own.PackageLicenseConcluded, own.PackageLicenseDeclared = license, license
	own.PrimaryPackagePurpose = "APPLICATION"
	d := &spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: "DOCUMENT",
		DocumentName: fmt.Sprintf("%s %s %s", p.name, r.tag(), platform),
		// Each document needs its own namespace, and the same program must always get the same one.
		DocumentNamespace: fmt.Sprintf("https://spdx.org/spdxdocs/%s-%s-%s", p.name, r.tag(), sum),
		CreationInfo: &spdx.CreationInfo{
			Creators: []common.Creator{{CreatorType: "Tool", Creator: repository + "/deploy/image"}},
			Created:  r.created.Format(time.RFC3339),
		},
		Packages: []*spdx.Package{own},
	}
	d.Relationships = append(d.Relationships, related("DOCUMENT", common.TypeRelationshipDescribe, own))
	contain := func(with *spdx.Package, relation string) {
		d.Packages = append(d.Packages, with)
		d.Relationships = append(d.Relationships, related(own.PackageSPDXIdentifier, relation, with))
	}
	contain(goModule("Go", "stdlib", strings.TrimPrefix(info.GoVersion, "go")), common.TypeRelationshipDependsOn)
	modules := slices.Clone(info.Deps)
	slices.SortFunc(modules, func(a, b *debug.Module) int { return strings.Compare(a.Path, b.Path) })
	for i, m := range modules {
		contain(linked(fmt.Sprintf("Module-%d", i+1), m, r), common.TypeRelationshipDependsOn)
	}
	for _, data := range baseContents(info.GoVersion) {
		d.Packages = append(d.Packages, data)
		d.Relationships = append(d.Relationships, related("DOCUMENT", common.TypeRelationshipDescribe, data))
	}
	return d
}

// linked returns the module that is linked into the program: its replacement, if it is replaced by another module. A
// module that is replaced by a folder belongs to this repository, so it has the version of the release.
func linked(id string, m *debug.Module, r release) *spdx.Package {
	switch {
	case m.Replace == nil:
		return goModule(id, m.Path, m.Version)
	case isFolder(m.Replace.Path):
		return goModule(id, m.Path, r.version)
	default:
		return goModule(id, m.Replace.Path, m.Replace.Version)
	}
}

// isFolder reports whether a replacement in go.mod is a folder and not a module.
func isFolder(replacement string) bool {
	return strings.HasPrefix(replacement, "./") || strings.HasPrefix(replacement, "../") || filepath.IsAbs(replacement)
}

// baseContents returns the packages in the base layer.
func baseContents(goVersion string) []*spdx.Package {
	authorities := goModule("Certificates", authoritiesModule, authoritiesVersion())
	authorities.PackageFileName = "/etc/ssl/certs/ca-certificates.crt"
	zones := goModule("TimeZones", "stdlib", strings.TrimPrefix(goVersion, "go"))
	zones.PackageName, zones.PackageFileName = "time zones of Go", "/usr/share/zoneinfo"
	return []*spdx.Package{authorities, zones}
}

const authoritiesModule = "golang.org/x/crypto/x509roots/fallback"

// authoritiesVersion returns the version of the module with the certificate authorities, which is linked into this
// program.
func authoritiesVersion() string {
	if own, ok := debug.ReadBuildInfo(); ok {
		for _, m := range own.Deps {
			if m.Path == authoritiesModule {
				return m.Version
			}
		}
	}
	return noAssertion
}

// goModule returns a package for a Go module.
func goModule(id, path, version string) *spdx.Package {
	return &spdx.Package{
		PackageSPDXIdentifier: common.ElementID(id), PackageName: path, PackageVersion: version,
		PackageDownloadLocation: noAssertion, PackageLicenseConcluded: noAssertion, PackageLicenseDeclared: noAssertion, PackageCopyrightText: noAssertion,
		PackageExternalReferences: []*spdx.PackageExternalReference{{
			Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL, Locator: packageURL(path, version),
		}},
	}
}

// packageURL returns the URL by which scanners identify a Go module. It encodes +, which would stand for a space.
func packageURL(path, version string) string {
	return "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
}

func related(from common.ElementID, relation string, to *spdx.Package) *spdx.Relationship {
	return &spdx.Relationship{
		RefA: common.DocElementID{ElementRefID: from}, Relationship: relation,
		RefB: common.DocElementID{ElementRefID: to.PackageSPDXIdentifier},
	}
}
