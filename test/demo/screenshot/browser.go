package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// browser is a headless Chromium that is controlled by the DevTools protocol
// over two pipes: JSON messages, each with a zero byte at its end
// (https://chromedevtools.github.io/devtools-protocol/).
type browser struct {
	cmd     *exec.Cmd
	profile string
	to      *os.File
	from    *bufio.Reader
	session string
	calls   int
}

// openBrowser starts a browser with an empty profile and one tab. It ends with ctx.
func openBrowser(ctx context.Context, program string) (*browser, error) {
	profile, err := os.MkdirTemp("", "screenshot-*")
	if err != nil {
		return nil, fmt.Errorf("make a profile for the browser: %w", err)
	}
	b := &browser{profile: profile}
	if err := b.start(ctx, program); err != nil {
		b.close()
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	return b, nil
}

func (b *browser) start(ctx context.Context, program string) error {
	theirIn, ourOut, err := os.Pipe()
	if err != nil {
		return err
	}
	ourIn, theirOut, err := os.Pipe()
	if err != nil {
		return err
	}
	b.to, b.from = ourOut, bufio.NewReader(ourIn)
	b.cmd = exec.CommandContext(ctx, program,
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
		"--user-data-dir="+filepath.Join(b.profile, "profile"),
		"--remote-debugging-pipe", "about:blank")
	b.cmd.ExtraFiles = []*os.File{theirIn, theirOut} // 3 and 4, as the protocol has it
	err = b.cmd.Start()
	_ = theirIn.Close()
	_ = theirOut.Close()
	if err != nil {
		b.cmd = nil
		return err
	}
	var tab struct {
		TargetID string `json:"targetId"`
	}
	if err := b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &tab); err != nil {
		return err
	}
	var attached struct {
		SessionID string `json:"sessionId"`
	}
	if err := b.call("Target.attachToTarget", map[string]any{"targetId": tab.TargetID, "flatten": true}, &attached); err != nil {
		return err
	}
	b.session = attached.SessionID
	return nil
}

// close ends the browser and removes its profile.
func (b *browser) close() {
	if b.cmd != nil {
		_ = b.cmd.Process.Kill()
		_ = b.cmd.Wait()
	}
	_ = os.RemoveAll(b.profile)
}

// open opens a page in a window of the given size in pixels.
func (b *browser) open(page string, width, height int) error {
	size := map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}
	if err := b.call("Emulation.setDeviceMetricsOverride", size, nil); err != nil {
		return err
	}
	return b.call("Page.navigate", map[string]any{"url": page}, nil)
}

// waitFor waits until a JavaScript expression is true in the page, and a moment
// more, so that the page becomes stable.
func (b *browser) waitFor(ctx context.Context, expression string) error {
	for {
		value, err := b.evaluate(expression)
		if err != nil {
			return err
		}
		pause := 250 * time.Millisecond
		if value == true {
			pause = 2 * time.Second
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
		if value == true {
			return nil
		}
	}
}

// address is the page's present address.
func (b *browser) address() (string, error) {
	value, err := b.evaluate("location.href")
	return fmt.Sprint(value), err
}

// evaluate returns the value of a JavaScript expression in the page.
func (b *browser) evaluate(expression string) (any, error) {
	var answer struct {
		Result struct {
			Value any `json:"value"`
		} `json:"result"`
	}
	err := b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true}, &answer)
	return answer.Result.Value, err
}

// picture writes what the page shows into a PNG file.
func (b *browser) picture(path string) error {
	var shot struct {
		Data string `json:"data"`
	}
	if err := b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &shot); err != nil {
		return err
	}
	data, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		return fmt.Errorf("decode the picture: %w", err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil { //nolint:gosec // a picture for everybody
		return fmt.Errorf("write the picture: %w", err)
	}
	return nil
}

var errBrowser = errors.New("the browser refused")

// call calls a method of the protocol and waits for its answer; events in between
// are of no interest.
func (b *browser) call(method string, parameters map[string]any, result any) error {
	b.calls++
	message := map[string]any{"id": b.calls, "method": method, "params": parameters}
	if b.session != "" {
		message["sessionId"] = b.session
	}
	data, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	if _, err := b.to.Write(append(data, 0)); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	for {
		data, err := b.from.ReadBytes(0)
		if err != nil {
			return fmt.Errorf("%s: read the browser's answer: %w", method, err)
		}
		var answer struct {
			ID     int             `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  *struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		if err := json.Unmarshal(bytes.TrimSuffix(data, []byte{0}), &answer); err != nil {
			return fmt.Errorf("%s: read the browser's answer: %w", method, err)
		}
		switch {
		case answer.ID != b.calls:
			continue
		case answer.Error != nil:
			return fmt.Errorf("%s: %w: %s", method, errBrowser, answer.Error.Message)
		case result == nil:
			return nil
		}
		if err := json.Unmarshal(answer.Result, result); err != nil {
			return fmt.Errorf("%s: read the browser's answer: %w", method, err)
		}
		return nil
	}
}
