// Command screenshot takes the picture of Temporal's web interface that the README
// shows: it runs the demo until all is Ready and opens the link that the demo
// prints in a headless Chromium. `make screenshot` calls it.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"syscall"
	"time"
)

// settings are what the user chose.
type settings struct {
	demo, state, browser string
	out                  string
	// page is a page to photograph without a demo, for trying things out.
	page          string
	width, height int
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	var s settings
	flags := flag.NewFlagSet("screenshot", flag.ContinueOnError)
	flags.StringVar(&s.demo, "demo", "bin/demo", "the demo's program")
	flags.StringVar(&s.state, "state", ".demo/screenshot", "folder for the demo's state")
	flags.StringVar(&s.browser, "browser", "chromium", "a Chromium")
	flags.StringVar(&s.out, "out", "docs/assets/temporal-ui.png", "the picture")
	flags.StringVar(&s.page, "page", "", "photograph this page, without a demo")
	flags.IntVar(&s.width, "width", 1400, "width of the window in pixels")
	flags.IntVar(&s.height, "height", 1100, "height of the window in pixels")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if s.page != "" {
		return s.photograph(ctx, s.page)
	}
	return s.withDemo(ctx, s.photograph)
}

// link is how the demo shows the Kyma's workflow.
var link = regexp.MustCompile(`http://\S+/workflows/kyma\S+`)

var errNoLink = errors.New("the demo ended without a link to the Kyma's workflow")

// withDemo runs the demo, calls use with the link to the Kyma's workflow, and ends
// the demo.
func (s settings) withDemo(ctx context.Context, use func(context.Context, string) error) error {
	cmd := exec.Command(s.demo, "--state", s.state)
	cmd.Stdout = os.Stdout
	said, err := cmd.StderrPipe()
	if err != nil {
		return fmt.Errorf("start the demo: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the demo: %w", err)
	}
	stop := func() { _ = cmd.Process.Signal(syscall.SIGTERM) }
	defer context.AfterFunc(ctx, stop)()

	result := errNoLink
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		fmt.Fprintln(os.Stderr, lines.Text())
		if page := link.FindString(lines.Text()); page != "" && errors.Is(result, errNoLink) {
			result = use(ctx, page)
			stop()
		}
	}
	_, _ = io.Copy(io.Discard, said)
	if err := cmd.Wait(); err != nil && result == nil {
		return fmt.Errorf("end the demo: %w", err)
	}
	return result
}

// rendered is true in a page that shows the events of a workflow's history.
const rendered = `document.body.innerText.includes("aggregate the status") && document.fonts.status === "loaded"`

func (s settings) photograph(ctx context.Context, page string) error {
	const patience = 2 * time.Minute
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	b, err := openBrowser(ctx, s.browser, s.width, s.height)
	if err != nil {
		return err
	}
	defer b.close()
	if err := b.open(page); err != nil {
		return err
	}
	if err := b.waitFor(ctx, rendered); err != nil {
		// The picture shows what was there instead.
		return errors.Join(fmt.Errorf("wait for the workflow's history on %s: %w", page, err), b.picture(s.out+".failed.png"))
	}
	if err := b.picture(s.out); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "wrote", s.out)
	return nil
}
