package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Where the Kyma is: in the control plane, and its copy in the remote cluster.
const (
	kymaName        = "demo"
	kymaNamespace   = "kcp-system"
	remoteKyma      = "default"
	remoteNamespace = "kyma-system"
	// laterModule is the module that is enabled from inside the remote cluster.
	laterModule = "metrics-server"
	// failingModule cannot be installed.
	failingModule = "broken"
)

const kymaYAML = `apiVersion: operator.kyma-project.io/v1beta2
kind: Kyma
metadata:
  name: demo
  namespace: kcp-system
  labels: {kyma-project.io/runtime-id: demo-cluster}
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
	if err := d.applyCatalog(ctx); err != nil {
		return err
	}
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
	d.say("created the Kyma demo with three modules")
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

func (d *demo) readKyma(ctx context.Context) (*v1beta2.Kyma, error) {
	read := &v1beta2.Kyma{}
	if err := d.controlPlane.Get(ctx, client.ObjectKey{Namespace: kymaNamespace, Name: kymaName}, read); err != nil {
		return nil, fmt.Errorf("read the Kyma: %w", err)
	}
	return read, nil
}

// module is the status of a module of the Kyma, and whether there is one.
func module(kyma *v1beta2.Kyma, name string) (v1beta2.ModuleStatus, bool) {
	for _, module := range kyma.Status.Modules {
		if module.Name == name {
			return module, true
		}
	}
	return v1beta2.ModuleStatus{}, false
}

// awaitKyma waits until the Kyma in the control plane is as asked for, and returns how long that took.
func (d *demo) awaitKyma(ctx context.Context, what string, is func(*v1beta2.Kyma) bool) (time.Duration, error) {
	begin := d.now()
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	for {
		read, err := d.readKyma(ctx)
		if err != nil {
			return 0, fmt.Errorf("wait until %s: %w", what, err)
		}
		if is(read) {
			return d.now().Sub(begin), nil
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("wait until %s: %w", what, context.Cause(ctx))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// editFromInside changes the modules as the owner of the remote cluster does it, and says how soon the control plane has
// seen that.
func (d *demo) editFromInside(ctx context.Context, name string, enable bool) error {
	key := client.ObjectKey{Namespace: remoteNamespace, Name: remoteKyma}
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		var inside v1beta2.Kyma
		if err := d.remote.Get(ctx, key, &inside); err != nil {
			return err
		}
		inside.Spec.Modules = slices.DeleteFunc(inside.Spec.Modules, func(m v1beta2.Module) bool { return m.Name == name })
		if enable {
			inside.Spec.Modules = append(inside.Spec.Modules, v1beta2.Module{Name: name})
		}
		return d.remote.Update(ctx, &inside)
	})
	if err != nil {
		return fmt.Errorf("edit the Kyma in the remote cluster: %w", err)
	}
	took, err := d.awaitKyma(ctx, "the control plane has seen the change of module "+name, func(kyma *v1beta2.Kyma) bool {
		_, there := module(kyma, name)
		return there == enable
	})
	if err != nil {
		return err
	}
	d.say("the control plane shows it after %.1f s:\n", took.Seconds())
	return nil
}

// enableFromInside enables one more module inside the remote cluster.
func (d *demo) enableFromInside(ctx context.Context) error {
	if d.hasAgent {
		if err := d.awaitAgent(ctx); err != nil {
			return err
		}
	}
	d.say("enabling the module %s inside the remote cluster, as its owner does", laterModule)
	return d.editFromInside(ctx, laterModule, true)
}

// showFailure enables a module that cannot be installed, shows what users are told, and disables it again.
func (d *demo) showFailure(ctx context.Context) error {
	d.say("enabling the module %s, whose team shipped a Service without ports", failingModule)
	if err := d.editFromInside(ctx, failingModule, true); err != nil {
		return err
	}
	_, err := d.awaitKyma(ctx, "the module "+failingModule+" fails", func(kyma *v1beta2.Kyma) bool {
		failing, _ := module(kyma, failingModule)
		return failing.State == shared.StateError && kyma.Status.State == shared.StateError
	})
	if err != nil {
		return err
	}
	if err := d.treeCommand(kymaName).run(ctx, streams{out: os.Stdout}); err != nil {
		return err
	}
	d.text("\n")
	d.say("disabling it again")
	return d.editFromInside(ctx, failingModule, false)
}

// showDeployments shows what the modules have in the remote cluster.
func (d *demo) showDeployments(ctx context.Context) error {
	list, err := d.remote.table(ctx, "apis/apps/v1/deployments")
	if err != nil {
		return err
	}
	d.say("in the remote cluster:\n\n  %s\n", d.remoteKubectl("get", "deployments", "--all-namespaces"))
	d.text(list + "\n")
	return nil
}
