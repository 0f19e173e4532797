// Command screenshot takes the pictures of Temporal's web interface that the README
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
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// settings are what the user chose.
type settings struct {
	demo, state, browser string
	out                  string
	// page is a page to photograph without a demo, for trying things out.
	page  string
	width int
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
	flags.StringVar(&s.out, "out", "docs/assets", "folder of the pictures")
	flags.StringVar(&s.page, "page", "", "photograph this page of a workflow, without a demo")
	flags.IntVar(&s.width, "width", 1500, "width of the pictures in pixels")
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

// shot is one picture.
type shot struct {
	// file is the picture's name.
	file string
	// below is added to the page's address.
	below string
	// text is what the page must show.
	text string
	// clicks are the buttons that are clicked then, by their text.
	clicks []string
	height int
}

func shots() []shot {
	return []shot{
		{
			// The first things that the workflow did come first.
			file: "temporal-ui.png", below: "/history", text: "synchronize the remote cluster", clicks: []string{"Descending"}, height: 1360,
		},
		{
			file: "temporal-details.png", below: "/user-metadata", text: "for freshness", height: 1000,
		},
	}
}

const patience = 2 * time.Minute

// photograph takes all pictures of a workflow's page.
func (s settings) photograph(ctx context.Context, page string) error {
	b, err := openBrowser(ctx, s.browser)
	if err != nil {
		return err
	}
	defer b.close()
	// The browser outlives it, for a picture of what was there instead.
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	// The address without a run leads to the one with the latest run.
	if err := b.open(page, s.width, shots()[0].height); err != nil {
		return err
	}
	if err := b.waitFor(ctx, `location.pathname.endsWith("/timeline")`); err != nil {
		return fmt.Errorf("wait for the run of %s: %w", page, err)
	}
	run, err := b.address()
	if err != nil {
		return err
	}
	for _, shot := range shots() {
		path := filepath.Join(s.out, shot.file)
		if err := s.take(ctx, b, strings.TrimSuffix(run, "/timeline")+shot.below, shot, path); err != nil {
			// The picture shows what was there instead.
			return errors.Join(fmt.Errorf("take %s: %w", path, err), b.picture(path+".failed.png"))
		}
		fmt.Fprintln(os.Stderr, "wrote", path)
	}
	return nil
}

func (s settings) take(ctx context.Context, b *browser, page string, shot shot, path string) error {
	if err := b.open(page, s.width, shot.height); err != nil {
		return err
	}
	rendered := fmt.Sprintf(`document.body.innerText.includes(%q) && document.fonts.status === "loaded"`, shot.text)
	if err := b.waitFor(ctx, rendered); err != nil {
		return fmt.Errorf("wait for %q on %s: %w", shot.text, page, err)
	}
	for _, button := range shot.clicks {
		click := fmt.Sprintf(`[...document.querySelectorAll("button")].filter(b => b.innerText.trim() === %q).map(b => b.click()).length > 0`, button)
		if err := b.waitFor(ctx, click); err != nil {
			return fmt.Errorf("click %q on %s: %w", button, page, err)
		}
	}
	return b.picture(path)
}
