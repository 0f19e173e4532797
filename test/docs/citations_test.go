package docs

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

var (
	// A document below a folder of the repository, with or without a heading.
	citation = regexp.MustCompile(`\b((?:[\w-]+/)+[\w.-]+\.md)(?:#([\w-]+))?`)
	// A section of a document that only its authors have.
	elsewhereCited = regexp.MustCompile(`(?i)\b(?:design|contract|findings)(?:'s)?\W{0,3}(?:sections?\b|§)|§|\((?:issue|seeds?)\b`)
)

func TestEveryCitationInACommentLeadsToADocumentOfTheRepository(t *testing.T) {
	root := testfleet.Root(t)
	cited := 0
	for path, comments := range commentsBelow(t, root) {
		for _, comment := range comments {
			found, problems := citations(root, comment)
			require.Empty(t, problems, "%s: %s", path, comment)
			cited += found
		}
	}
	require.NotZero(t, cited)
}

func TestCitationsThatLeadNowhereAreFound(t *testing.T) {
	root := testfleet.Root(t)
	for comment, problem := range map[string]string{
		"// As docs/design/principles.md says.":              "",
		"// See docs/design/sweep.md#the-walk.":              "",
		"// See docs/design/sweeping.md.":                    "docs/design/sweeping.md is no file",
		"// See docs/design/sweep.md#the-run of the sweep.":  "docs/design/sweep.md has no heading the-run",
		"// An idle cluster is small (design, section 6).":   "design, section",
		"// Restored when changed (contract, sections 4, 5)": "contract, sections",
		"// The order of the contract\n// (section 6)":       "contract (section",
		"// The order is the contract's (section 6)":         "contract's (section",
		"// One change removes so many (issue: limits).":     "(issue",
		"// contract §6": "contract §",
	} {
		_, problems := citations(root, comment)
		if problem == "" {
			require.Empty(t, problems, comment)
		} else {
			require.Equal(t, []string{problem}, problems, comment)
		}
	}
}

// citations counts what a comment cites, and says what of it leads nowhere.
func citations(root, comment string) (found int, problems []string) {
	// A citation may go on in the next line.
	text := regexp.MustCompile(`\s*\n\s*(?://)?\s*`).ReplaceAllString(comment, " ")
	for _, match := range citation.FindAllStringSubmatch(text, -1) {
		found++
		content, err := os.ReadFile(filepath.Join(root, match[1]))
		switch {
		case err != nil:
			problems = append(problems, match[1]+" is no file")
		case match[2] != "" && !slices.Contains(anchors(string(content)), match[2]):
			problems = append(problems, match[1]+" has no heading "+match[2])
		}
	}
	return found, append(problems, elsewhereCited.FindAllString(text, -1)...)
}

// commentsBelow are the comments of all Go files below a folder, by the paths of the files in it. Lines of // that follow
// each other are one comment.
func commentsBelow(t *testing.T, root string) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "bin" || entry.Name() == "testdata") {
			return filepath.SkipDir
		}
		// The examples of this very test lead nowhere.
		if entry.IsDir() || !strings.HasSuffix(path, ".go") || entry.Name() == "citations_test.go" {
			return nil
		}
		content, err := os.ReadFile(path)
		name, _ := filepath.Rel(root, path)
		all[name] = comments(content)
		return err
	}))
	return all
}

func comments(source []byte) []string {
	var (
		s     scanner.Scanner
		found []string
		last  = -2
	)
	files := token.NewFileSet()
	file := files.AddFile("", files.Base(), len(source))
	s.Init(file, source, nil, scanner.ScanComments)
	for {
		at, kind, text := s.Scan()
		switch {
		case kind == token.EOF:
			return found
		case kind != token.COMMENT:
			continue
		}
		if line := file.Line(at); line == last+1 {
			found[len(found)-1] += "\n" + text
			last = line
		} else {
			found = append(found, text)
			last = line
		}
	}
}

// provenPages are those beside the design that say which test holds a rule.
func provenPages() []string {
	return []string{"contract.md", "backup.md", "high-availability.md", "migration.md", "security-model.md"}
}

// The pages that say which test holds a rule name tests that exist.
func TestTheDesignNamesTestsThatExist(t *testing.T) {
	there := tests(t, testfleet.Root(t))
	named := 0
	for page, text := range pages(t) {
		folder, name := filepath.Split(page)
		if folder != "docs/design/" && folder != "docs/decisions/" && !slices.Contains(provenPages(), name) {
			continue
		}
		for _, match := range regexp.MustCompile("`((?:Test|Benchmark)\\w+)(…?)`").FindAllStringSubmatch(text, -1) {
			named++
			exists := there[match[1]]
			for name := range there {
				exists = exists || match[2] != "" && strings.HasPrefix(name, match[1])
			}
			require.True(t, exists, "%s names the test %s, which is nowhere", page, match[1])
		}
	}
	require.NotZero(t, named)
}
