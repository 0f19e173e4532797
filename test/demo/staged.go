package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	// stagedModule is the module that the tour rolls out: one ConfigMap, which is Ready at once.
	stagedModule = "greeting"
	// stagedKymas is how many Kymas have it; the first is the canary.
	stagedKymas = 6
)

// stagedPolicy has concurrency so that one sees the stages filling up, and short times so that nobody waits long.
const stagedPolicy = `apiVersion: operator.kyma-project.io/v1beta2
kind: RolloutPolicy
metadata:
  name: tour
  namespace: kcp-system
spec:
  channels: [regular]
  stages:
  - name: canary
    selector:
      matchLabels: {example.com/stage: canary}
    soak: 5s
  - name: half
    percent: 50
    soak: 5s
  - name: rest
  concurrency: 2
  settleWithin: 1m
  onFailure: hold
`

// brokenObject makes a version a bad one: no API server accepts a Service without ports.
const brokenObject = `---
apiVersion: v1
kind: Service
metadata:
  name: without-ports
spec: {}
`

// stagedKyma is the name of a Kyma of the tour, which are numbered from 1.
func stagedKyma(number int) string { return fmt.Sprintf("cluster-%d", number) }

// stagedKymaYAML is a Kyma of the tour. All share one remote cluster, in which each has a namespace of its own.
func stagedKymaYAML(number int) string {
	labels := ""
	if number == 1 {
		labels = "\n  labels: {example.com/stage: canary}"
	}
	return fmt.Sprintf(`apiVersion: operator.kyma-project.io/v1beta2
kind: Kyma
metadata:
  name: %[1]s
  namespace: kcp-system%[2]s
spec:
  channel: regular
  sync: {enabled: true, namespace: %[1]s, moduleCatalog: false}
  modules:
  - name: %[3]s
`, stagedKyma(number), labels, stagedModule)
}

// pushFirstVersion pushes the first version. Its entries of the catalog follow with the Kymas.
func (d *demo) pushFirstVersion(ctx context.Context) error {
	if err := os.RemoveAll(d.path("tour")); err != nil {
		return fmt.Errorf("remove what an earlier tour had written: %w", err)
	}
	_, err := d.pushVersion(ctx, stagedModule, firstVersion, "")
	return err
}

// createStagedFleet publishes the first version and creates the Kymas that have it.
func (d *demo) createStagedFleet(ctx context.Context) error {
	if err := d.publish(ctx, firstVersion, ""); err != nil {
		return err
	}
	var all strings.Builder
	for number := 1; number <= stagedKymas; number++ {
		secret, err := d.accessSecret(stagedKyma(number))
		if err != nil {
			return err
		}
		all.WriteString(secret + "---\n" + stagedKymaYAML(number) + "---\n")
	}
	return d.apply(ctx, all.String())
}

// writeVersion writes a version of a module as its team has it, a manifest and its configuration, and returns the folder.
func (d *demo) writeVersion(module, version, more string) (string, error) {
	manifest := fmt.Sprintf(`apiVersion: v1
kind: ConfigMap
metadata:
  name: %s
data:
  version: %s
%s`, module, version, more)
	config := fmt.Sprintf(`name: kyma-project.io/module/%[1]s
moduleName: %[1]s
version: %[2]s
manifest: manifest.yaml
channels: [regular]
`, module, version)
	folder := filepath.Join(module, version)
	if err := d.writeTour(filepath.Join(folder, "manifest.yaml"), manifest); err != nil {
		return "", err
	}
	return filepath.Join(d.path("tour"), folder), d.writeTour(filepath.Join(folder, "module-config.yaml"), config)
}

// writeTour writes a file below the folder of the tour.
func (d *demo) writeTour(name, content string) error {
	path := filepath.Join(d.path("tour"), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// pushCommand pushes the version of a module in a folder into the registry, and prints its entries of the catalog.
func (d *demo) pushCommand(folder string) command {
	return d.moduleTool("push", folder, "--registry", d.registry, "--plain-http")
}

// publishLine is what publishes a version of the tour's module, as a line for a shell.
func (d *demo) publishLine(version string) string {
	folder := filepath.Join(d.path("tour"), stagedModule, version)
	return d.pushCommand(folder).String() + " | " + d.kubectl("apply", "--server-side", "-f", "-").String()
}

// pushVersion pushes a version of a module, and returns its entries of the catalog.
func (d *demo) pushVersion(ctx context.Context, module, version, more string) (string, error) {
	folder, err := d.writeVersion(module, version, more)
	if err != nil {
		return "", err
	}
	return d.pushCommand(folder).output(ctx)
}

// publish pushes a version of the tour's module, and gives it to the channel regular.
func (d *demo) publish(ctx context.Context, version, more string) error {
	entries, err := d.pushVersion(ctx, stagedModule, version, more)
	if err != nil {
		return err
	}
	return d.apply(ctx, entries)
}
