package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// Where the Kyma is: in the control plane, and its copy in the remote cluster.
const (
	kymaName        = "demo"
	kymaNamespace   = "kcp-system"
	remoteKyma      = "default"
	remoteNamespace = "kyma-system"
	// laterModule is the module that is enabled from inside the remote cluster.
	laterModule = "metrics-server"
)

const kymaYAML = `apiVersion: operator.kyma-project.io/v1beta2
kind: Kyma
metadata:
  name: demo
  namespace: kcp-system
spec:
  channel: regular
  modules:
  - name: sample
  - name: cert-manager
  - name: prometheus-operator
`

// createKyma gives Lifecycle Manager access to the remote cluster and says what
// modules it is to have. From here on Lifecycle Manager works.
func (d *demo) createKyma(ctx context.Context) error {
	secret, err := d.accessSecret(kymaName)
	if err != nil {
		return err
	}
	if err := d.apply(ctx, secret); err != nil {
		return err
	}
	if err := d.apply(ctx, kymaYAML); err != nil {
		return err
	}
	d.say("created the Kyma demo with three modules:\n")
	return nil
}

// accessSecret is the Secret that gives a Kyma access to the remote cluster.
func (d *demo) accessSecret(kyma string) (string, error) {
	access, err := os.ReadFile(d.fleet.Remotes[0].AccessKubeconfig)
	if err != nil {
		return "", fmt.Errorf("read the remote cluster's kubeconfig: %w", err)
	}
	return fmt.Sprintf(`apiVersion: v1
kind: Secret
metadata:
  name: %[1]s
  namespace: kcp-system
  labels:
    operator.kyma-project.io/kyma-name: %[1]s
data:
  config: %[2]s
`, kyma, base64.StdEncoding.EncodeToString(access)), nil
}

// treeCommand shows the Kyma and its modules.
func (d *demo) treeCommand(args ...string) command {
	return append(command{
		d.program("lifecycle-manager"), "status", "--kubeconfig", d.path(controlPlaneName), "-n", kymaNamespace,
	}, args...)
}

// untilReady shows the tree whenever it changes, until all is Ready.
func (d *demo) untilReady(ctx context.Context) error {
	err := d.awaitReady(ctx, os.Stdout, kymaName)
	d.text("\n")
	return err
}

// awaitReady writes the tree of a Kyma, or of all where none is named, whenever it
// changes, until all is Ready. When that takes too long it shows the end of Lifecycle
// Manager's log, and its error says what is not Ready and why.
func (d *demo) awaitReady(ctx context.Context, out io.Writer, kymas ...string) error {
	tree := d.treeCommand(append(kymas, "--until-ready", "--timeout", d.timeout.String())...)
	var problem bytes.Buffer
	err := tree.run(ctx, streams{out: out, err: &problem})
	if err == nil || ctx.Err() != nil {
		return err
	}
	select {
	case <-d.manager.ended:
		return d.manager.failure()
	default:
	}
	d.say("the end of Lifecycle Manager's log %s:\n%s\n", d.manager.log, lastLines(d.manager.log, logLines))
	return fmt.Errorf("%w: %s", errFailed, strings.TrimSpace(strings.TrimPrefix(problem.String(), "error: ")))
}

var errFailed = errors.New("the demo failed")

// kyma is what the demo reads of the Kyma.
type kyma struct {
	Metadata struct {
		UID string `json:"uid"`
	} `json:"metadata"`
	Status struct {
		Modules []struct {
			Name string `json:"name"`
		} `json:"modules"`
	} `json:"status"`
}

func (d *demo) readKyma(ctx context.Context) (kyma, error) {
	out, err := d.kubectl("-n", kymaNamespace, "get", "kyma", kymaName, "--output", "json").output(ctx, nil)
	if err != nil {
		return kyma{}, err
	}
	var read kyma
	if err := json.Unmarshal([]byte(out), &read); err != nil {
		return kyma{}, fmt.Errorf("read the Kyma: %w", err)
	}
	return read, nil
}

// enableFromInside enables one more module as the owner of the remote cluster
// does it, and waits until the control plane has seen it.
func (d *demo) enableFromInside(ctx context.Context) error {
	enable := d.enableCommand()
	d.say("enabling %s from inside the remote cluster:\n\n  %s\n", laterModule, enable)
	if _, err := enable.output(ctx, nil); err != nil {
		return err
	}
	begin := d.now()
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	for {
		seen, err := d.readKyma(ctx)
		if err != nil {
			return fmt.Errorf("wait for module %s in the control plane: %w", laterModule, err)
		}
		for _, module := range seen.Status.Modules {
			if module.Name == laterModule {
				d.say("the control plane has seen it after %.1f s:\n", d.now().Sub(begin).Seconds())
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for module %s in the control plane: %w", laterModule, context.Cause(ctx))
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// showDeployments shows what the modules have in the remote cluster.
func (d *demo) showDeployments(ctx context.Context) error {
	list := d.remoteKubectl("get", "deployments", "--all-namespaces")
	d.say("in the remote cluster:\n\n  %s\n", list)
	if err := list.run(ctx, streams{out: os.Stdout}); err != nil {
		return err
	}
	d.text("\n")
	return nil
}
