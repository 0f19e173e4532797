package command_test

import (
	"embed"
	"fmt"
	"os"
	"testing"
)

//go:embed all:testdata
var testdata embed.FS

// Commands run in a copy of testdata, elsewhere, so that Go takes a test's result of before where the content is the same:
// by files that are here it would go by their times, which are new in each clone.
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
