// Command film draws what a command prints as an SVG that moves: a terminal in which the lines appear as they came,
// without the long pauses. `make demo-film` draws docs/assets/demo.svg with it.
//
//	film -o FILE -- COMMAND ARGUMENTS...
//
// The picture needs no script and no fonts of its own. Where a reader prefers reduced motion, it shows the end.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("film", flag.ContinueOnError)
	file := flags.String("o", "film.svg", "file of the picture")
	title := flags.String("title", "make demo ARGS=--exit-when-ready", "the command as a reader would type it")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return fmt.Errorf("which command? film -o FILE -- COMMAND ARGUMENTS")
	}
	printed, err := record(flags.Args(), os.Stdout)
	if err != nil {
		return err
	}
	if err := os.WriteFile(*file, []byte(draw(*title, printed)), 0o644); err != nil {
		return fmt.Errorf("write the picture: %w", err)
	}
	return nil
}

// line is one that a command printed, at a time since its start.
type line struct {
	at   time.Duration
	text string
}

// record runs a command and keeps what it prints, which it also copies to out. The folder that it runs in is named by a
// dot: a picture says nothing of the machine that it was made on.
func record(command []string, out io.Writer) ([]line, error) {
	here, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("find the working folder: %w", err)
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	program := exec.Command(command[0], command[1:]...)
	program.Stdout, program.Stderr = writer, writer
	if err := program.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", command[0], err)
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("close the pipe: %w", err)
	}
	begin := time.Now()
	var printed []line
	for scanner := bufio.NewScanner(reader); scanner.Scan(); {
		text := strings.ReplaceAll(scanner.Text(), here, ".")
		printed = append(printed, line{time.Since(begin), text})
		if _, err := fmt.Fprintln(out, text); err != nil {
			return nil, fmt.Errorf("show what %s prints: %w", command[0], err)
		}
	}
	if err := program.Wait(); err != nil {
		return nil, fmt.Errorf("%s: %w", command[0], err)
	}
	return printed, nil
}
