package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
)

// nextVersion is a file in the demo's folder that gives the next version of the sample module to the channel regular.
const nextVersion = "next-version.yaml"

const nextVersionYAML = `apiVersion: operator.kyma-project.io/v1beta2
kind: ModuleReleaseMeta
metadata:
  name: sample
  namespace: kcp-system
spec:
  moduleName: sample
  channels:
  - channel: regular
    version: 1.1.0
  - channel: fast
    version: 1.1.0
`

// planCommand says what giving that version to the channel would do.
func (d *demo) planCommand() command {
	return command{
		d.program("lifecycle-manager"), "plan", "--objects", "-f", d.path(nextVersion), "--kubeconfig", d.path(controlPlaneName),
	}
}

// moveChannelCommand gives that version to the channel.
func (d *demo) moveChannelCommand() command {
	return d.kubectl("apply", "--server-side", "--force-conflicts", "-f", d.path(nextVersion))
}

// editCommand edits the Kyma as the owner of the remote cluster does.
func (d *demo) editCommand() command {
	return d.remoteKubectl("-n", remoteNamespace, "edit", "kyma", remoteKyma)
}

func (d *demo) deleteCommand() command {
	return d.kubectl("-n", kymaNamespace, "delete", "kyma", kymaName)
}

// workflowURL is where Temporal's web interface shows the workflow of a Kyma or a
// ModuleRollout. Its id has slashes, which must not become part of the path.
func (d *demo) workflowURL(kind, name, uid string) string {
	id := kind + "/" + kymaNamespace + "/" + name + "/" + uid
	return fmt.Sprintf("%s/namespaces/%s/workflows/%s", d.fleet.Temporal.UIURL, d.fleet.Temporal.Namespace, url.PathEscape(id))
}

// kymasURL is where Temporal's web interface lists the workflows of Kymas, without our own bookkeeping.
func (d *demo) kymasURL() string {
	return fmt.Sprintf("%s/namespaces/%s/workflows?query=%s", d.fleet.Temporal.UIURL, d.fleet.Temporal.Namespace, url.QueryEscape(`WorkflowType="KymaWorkflow"`))
}

// kubectlHint says how to get the kubectl of the printed commands, if there is none.
func (d *demo) kubectlHint() string {
	if _, err := exec.LookPath(d.kubectlProgram()); err == nil {
		return ""
	}
	return fmt.Sprintf(" (there is no kubectl on your PATH: `make kubectl` builds %s)", d.program(builtKubectl))
}

// explain says what to open, to ask and to try.
func (d *demo) explain(ctx context.Context) error {
	read, err := d.readKyma(ctx)
	if err != nil {
		return err
	}
	here, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the working folder: %w", err)
	}
	if err := os.WriteFile(d.path(nextVersion), []byte(nextVersionYAML), 0o600); err != nil {
		return fmt.Errorf("write the next version: %w", err)
	}
	d.text(fmt.Sprintf(`Open
  Temporal: all Kymas      %s
  Temporal: this Kyma      %s
                           (the tab User Metadata says what it waits for)

Ask, in another terminal, in %s
  what is there            %s
  what an update would do  %s

Change%s
  update a module          %s
  edit from inside         %s
  delete the Kyma          %s

Ctrl-C ends the demo and everything it started. The tree below follows what you do.

`,
		d.kymasURL(), d.workflowURL("kyma", kymaName, string(read.UID)), here,
		d.treeCommand(), d.planCommand(), d.kubectlHint(), d.moveChannelCommand(), d.editCommand(), d.deleteCommand()))
	return nil
}
