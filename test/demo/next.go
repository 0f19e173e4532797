package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
)

// enableCommand enables one more module as the owner of the remote cluster does.
func (d *demo) enableCommand() command {
	return d.remoteKubectl("-n", remoteNamespace, "patch", "kyma", remoteKyma, "--type", "json",
		"-p", `[{"op":"add","path":"/spec/modules/-","value":{"name":"`+laterModule+`"}}]`)
}

// moveChannelCommand gives the sample module's next version to the channel regular.
func (d *demo) moveChannelCommand() command {
	return d.kubectl("-n", kymaNamespace, "patch", "modulereleasemeta", "sample", "--type", "merge",
		"-p", `{"spec":{"channels":[{"channel":"regular","version":"1.1.0"},{"channel":"fast","version":"1.1.0"}]}}`)
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

// explain says what to open and to try.
func (d *demo) explain(ctx context.Context) error {
	read, err := d.readKyma(ctx)
	if err != nil {
		return err
	}
	here, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the working folder: %w", err)
	}
	d.text(fmt.Sprintf(`Open
  Temporal           %s
  this Kyma there    %s
  control plane      %s
  remote cluster     %s

Try, in another terminal, in %s
  enable a module from inside the remote cluster (seen within %s):
    %s
  move a channel to the next version of a module:
    %s
  delete the Kyma, and with it all that its modules have in the remote cluster:
    %s

Ctrl-C ends the demo and all that it has started. The tree below follows what you do.

`,
		d.fleet.Temporal.UIURL, d.workflowURL("kyma", kymaName, read.Metadata.UID),
		d.kubectl("get", "kymas,manifests", "-A"), d.remoteKubectl("get", "kymas,deployments", "-A"),
		here, resyncInterval, d.enableCommand(), d.moveChannelCommand(), d.deleteCommand()))
	return nil
}
