package structure

import (
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// loggers are what lines are logged by, as they are written.
var loggers = regexp.MustCompile(`(?i)(^|\.)log$|logger$|logger\(|loggerOf\(|FromContext\(|^slog$|\.V\(\d\)$`)

// A key that is spelled in two ways is found by half of the queries.
func TestEveryLineIsLoggedUnderTheKeysOfTheOneList(t *testing.T) {
	all, _ := packages(t)
	lines, files := 0, token.NewFileSet()
	for path, p := range all {
		if top, _, _ := strings.Cut(path, "/"); top == "test" {
			continue
		}
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			ast.Inspect(file, func(node ast.Node) bool {
				if call, ok := node.(*ast.CallExpr); ok {
					if keys, logs := keysOf(files, call); logs {
						lines++
						for _, key := range keys {
							require.True(t, isListed(key), "%s: the key is none of package logkey", files.Position(key.Pos()))
						}
					}
				}
				return true
			})
		}
	}
	require.NotZero(t, lines)
}

// keysOf are the keys of a call that logs. What is given as a list is made elsewhere.
func keysOf(files *token.FileSet, call *ast.CallExpr) (keys []ast.Expr, logs bool) {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil, false
	}
	var receiver strings.Builder
	if err := printer.Fprint(&receiver, files, method.X); err != nil || !loggers.MatchString(receiver.String()) {
		return nil, false
	}
	pairs := call.Args
	switch method.Sel.Name {
	case "Info", "Warn", "Debug":
		pairs = pairs[1:]
	case "Error":
		// The message comes after the error where that is an argument of its own.
		for len(pairs) > 0 && !isText(pairs[0]) {
			pairs = pairs[1:]
		}
		pairs = pairs[min(1, len(pairs)):]
	case "WithValues", "With":
	default:
		return nil, false
	}
	if call.Ellipsis.IsValid() && len(pairs) > 0 {
		pairs = pairs[:len(pairs)-1]
	}
	for i := 0; i < len(pairs); i += 2 {
		keys = append(keys, pairs[i])
	}
	return keys, true
}

func isText(e ast.Expr) bool {
	literal, ok := e.(*ast.BasicLit)
	return ok && literal.Kind == token.STRING
}

func isListed(key ast.Expr) bool {
	selector, ok := key.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	from, ok := selector.X.(*ast.Ident)
	return ok && from.Name == "logkey"
}
