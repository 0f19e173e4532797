package command_test

import (
	"embed"
	"fmt"
	"os"
	"testing"
)

//go:embed all:testdata
var testdata embed.FS

// The commands run in a copy of testdata in a temporary folder. Otherwise Go's test cache would depend on the times of
// the files in testdata, which are new in each clone. With embedded files it depends on their content.
var here, elsewhere string

func TestMain(m *testing.M) {
	err := copyTestdata()
	code := 1
	if err == nil {
		code = m.Run()
	} else {
		fmt.Fprintln(os.Stderr, err)
	}
	_ = os.RemoveAll(elsewhere)
	os.Exit(code)
}

func copyTestdata() (err error) {
	if here, err = os.Getwd(); err != nil {
		return err
	}
	if elsewhere, err = os.MkdirTemp("", "module-command-"); err != nil {
		return err
	}
	return os.CopyFS(elsewhere, testdata)
}
