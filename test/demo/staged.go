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
  name: greeting
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

// createStagedFleet publishes the first version and creates the Kymas that have it.
func (d *demo) createStagedFleet(ctx context.Context) error {
	if err := os.RemoveAll(d.path("tour")); err != nil {
		return fmt.Errorf("remove what an earlier tour had written: %w", err)
	}
	if err := d.publish(ctx, "1.0.0", ""); err != nil {
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

// writeVersion writes a version of the module as its team has it, a manifest and its configuration.
func (d *demo) writeVersion(version, more string) error {
	manifest := fmt.Sprintf(`apiVersion: v1
kind: ConfigMap
metadata:
  name: %s
data:
  version: %s
%s`, stagedModule, version, more)
	config := fmt.Sprintf(`name: kyma-project.io/module/%[1]s
moduleName: %[1]s
version: %[2]s
manifest: manifest.yaml
channels: [regular]
`, stagedModule, version)
	if err := d.writeTour(filepath.Join(version, "manifest.yaml"), manifest); err != nil {
		return err
	}
	return d.writeTour(filepath.Join(version, "module-config.yaml"), config)
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

// pushCommand pushes a version into the registry, and prints its entries of the catalog.
func (d *demo) pushCommand(version string) command {
	folder := filepath.Join(d.path("tour"), version)
	return command{d.program("module"), "push", folder, "--registry", d.fleet.Registry.Host, "--plain-http"}
}

// publishLine is what publishes a version, as a line for a shell.
func (d *demo) publishLine(version string) string {
	return d.pushCommand(version).String() + " | " + d.kubectl("apply", "--server-side", "-f", "-").String()
}

// publish pushes a version, and gives it to the channel regular.
func (d *demo) publish(ctx context.Context, version, more string) error {
	if err := d.writeVersion(version, more); err != nil {
		return err
	}
	entries, err := d.pushCommand(version).output(ctx, nil)
	if err != nil {
		return err
	}
	return d.apply(ctx, entries)
}
