// Package words keeps the project's vocabulary to the field's standard terms (docs/glossary.md): words that earlier
// versions had invented do not come back, neither in identifiers nor in comments, messages and pages.
package words

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// refused are words that no identifier has, with what to say instead.
var refused = map[string]string{
	"look": "reconcile, check, read", "looks": "reconciles, attempts, reads", "looked": "reconciled, checked, read",
	"fight": "field ownership conflict", "dispute": "field ownership conflict", "disputed": "in a field ownership conflict",
	"misfit": "schema mismatch", "unfit": "mismatched", "residents": "namespace usage", "occupancy": "namespace usage",
	"sibling": "other module of the Kyma", "siblings": "other modules of the Kyma", "teller": "recorder",
	"heir": "successor", "handmade": "user-provided", "intake": "import", "comeback": "reconnect back-off",
	"comebacks": "reconnect back-off", "spoiled": "invalidated", "seldom": "slow retry",
	"lasting": "persistent", "passing": "retryable", "recipe": "render request", "blueprint": "render request",
	"lane": "harness, pool", "venue": "fixture", "tiny": "minimal", "cable": "TCP proxy",
	"pulse": "leader status, heartbeat", "mended": "fixed",
}

// phrases are what no comment, message or page says.
var phrases = regexp.MustCompile(`(?i)\b(` + strings.Join([]string{
	`(a|an|one|the|this|each|every|its|next|last|first|another|present|whole|later|earlier|more|two|five) looks?`, `looks? (at|into) (it|them) (again|anew)`,
	`fights?`, `disputes?`, `disputed`, `misfits?`, `unfit`, `residents`, `occupancy`, `siblings?`, `tellers?`, `blueprints?`, `recipes?`,
	`comebacks?`, `spoiled`, `put right`, `puts right`, `made by hand`, `taken in`, `lets? nothing go`,
	`every how manieth`, `against (his|her|its|their) will`, `to and fro`, `does no harm`, `do no harm`, `pulses?`, `NotTakenIn`, `[A-Z][a-z]+GoesOn`, `PurgeLetGo`, `NotMended`,
}, "|") + `)\b`)

// kept are names that users' clients, histories or annotations depend on.
var kept = map[string]bool{
	"LookPath": true, // os/exec
}

// sources are the files of the repository with one of these endings.
func sources(t *testing.T, endings ...string) []string {
	t.Helper()
	out, err := exec.Command("git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard").Output()
	require.NoError(t, err)
	var all []string
	for _, file := range strings.Fields(string(out)) {
		if _, err := os.Stat(filepath.Join(root, file)); err != nil || strings.HasPrefix(file, "test/words/") {
			continue
		}
		for _, ending := range endings {
			if strings.HasSuffix(file, ending) {
				all = append(all, file)
			}
		}
	}
	require.NotEmpty(t, all)
	return all
}

// wordsOf are the words of an identifier in camel case, in lower case.
func wordsOf(identifier string) []string {
	var all []string
	begin := 0
	letters := []rune(identifier)
	for i := 1; i <= len(letters); i++ {
		if i == len(letters) || unicode.IsUpper(letters[i]) && !unicode.IsUpper(letters[i-1]) || letters[i] == '_' {
			all = append(all, strings.ToLower(strings.Trim(string(letters[begin:i]), "_")))
			begin = i
		}
	}
	return all
}

func TestIdentifiersAreInStandardTerms(t *testing.T) {
	for _, file := range sources(t, ".go") {
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		said := map[string]bool{}
		ast.Inspect(parsed, func(n ast.Node) bool {
			name, ok := n.(*ast.Ident)
			if !ok || kept[name.Name] || said[name.Name] {
				return true
			}
			for _, word := range wordsOf(name.Name) {
				if instead, bad := refused[word]; bad {
					said[name.Name] = true
					t.Errorf("%s: %s: instead of %q say: %s", file, name.Name, word, instead)
				}
			}
			return true
		})
	}
}

func TestCommentsAndMessagesAreInStandardTerms(t *testing.T) {
	for _, file := range sources(t, ".go") {
		content, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		files := token.NewFileSet()
		var s scanner.Scanner
		s.Init(files.AddFile(file, -1, len(content)), content, nil, scanner.ScanComments)
		comment := ""
		for {
			_, kind, text := s.Scan()
			if kind == token.COMMENT {
				comment += " " + strings.TrimPrefix(text, "//") // a phrase may go over two lines
				continue
			}
			check(t, file, comment)
			if comment = ""; kind == token.STRING {
				check(t, file, text)
			}
			if kind == token.EOF {
				break
			}
		}
	}
}

func TestPagesAreInStandardTerms(t *testing.T) {
	for _, file := range sources(t, ".md", ".yaml", "Makefile", "test/run") {
		content, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		check(t, file, strings.Join(strings.Fields(string(content)), " "))
	}
}

// check refuses phrases.
func check(t *testing.T, file, text string) {
	t.Helper()
	for _, found := range phrases.FindAllString(strings.Join(strings.Fields(text), " "), -1) {
		t.Errorf("%s: %q is no standard term (docs/glossary.md)", file, found)
	}
}

func TestOldWordsAreFound(t *testing.T) {
	require.Equal(t, []string{"next", "look", "at"}, wordsOf("NextLookAt"))
	require.True(t, phrases.MatchString("what the next look finds"))
	require.False(t, phrases.MatchString("look it up in the lookup table"))
}
