package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// fleet is what the demo needs to know of the fleet (`fleet up --output json`).
type fleet struct {
	ControlPlane cluster   `json:"controlPlane"`
	Remotes      []cluster `json:"remotes"`
	Temporal     struct {
		Address   string `json:"address"`
		Namespace string `json:"namespace"`
		UIURL     string `json:"uiURL"`
	} `json:"temporal"`
	Registry struct {
		Host string `json:"host"`
	} `json:"registry"`
	Kubectl string `json:"kubectl"`
}

type cluster struct {
	// Kubeconfig is the admin's, AccessKubeconfig that of Lifecycle Manager.
	Kubeconfig       string `json:"kubeconfig"`
	AccessKubeconfig string `json:"accessKubeconfig"`
}

// usualUIPort is where Temporal's development server has its web interface.
const usualUIPort = 8233

func (d *demo) fleetCommand(args ...string) command {
	return append(command{d.program("fleet"), "--name", "demo", "--state-dir", d.path("fleet")}, args...)
}

// bringUpFleet starts clusters, Temporal and registry. The fleet's owner is this
// process: when it ends, however it ends, the fleet is taken down.
func (d *demo) bringUpFleet(ctx context.Context) error {
	d.say("bringing up two clusters, Temporal and a registry")
	// What may remain of a crash is of no use.
	if err := d.takeDownFleet(ctx); err != nil {
		return err
	}
	up := d.fleetCommand("up", "--output", "json", "--remotes", "1", "--owner-pid", strconv.Itoa(os.Getpid()))
	if port := d.pickUIPort(); port != 0 {
		up = append(up, "--temporal-ui-port", strconv.Itoa(port))
	}
	var out bytes.Buffer
	if err := up.run(ctx, streams{out: &out, err: &relay{to: d.speaker}}); err != nil {
		return err
	}
	if err := json.Unmarshal(out.Bytes(), &d.fleet); err != nil {
		return fmt.Errorf("read what the fleet says of itself: %w", err)
	}
	if len(d.fleet.Remotes) == 0 {
		return errors.New("the fleet has no remote cluster")
	}
	return d.link()
}

// pickUIPort is the port to ask for; 0 leaves the choice to the fleet.
func (d *demo) pickUIPort() int {
	if d.uiPort != 0 {
		return d.uiPort
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(usualUIPort)))
	if err != nil {
		return 0
	}
	_ = listener.Close()
	return usualUIPort
}

// Short names in the demo's folder, for people.
const (
	kubectlName      = "kubectl"
	controlPlaneName = "control-plane.kubeconfig"
	remoteName       = "remote.kubeconfig"
)

// link gives kubectl and the kubeconfigs short names in the demo's folder.
func (d *demo) link() error {
	for name, target := range map[string]string{
		kubectlName:      d.fleet.Kubectl,
		controlPlaneName: d.fleet.ControlPlane.Kubeconfig,
		remoteName:       d.fleet.Remotes[0].Kubeconfig,
	} {
		if err := d.unlink(name); err != nil {
			return err
		}
		if err := os.Symlink(target, d.path(name)); err != nil {
			return fmt.Errorf("make %s: %w", filepath.Join(d.folder, name), err)
		}
	}
	return nil
}

func (d *demo) unlink(name string) error {
	if err := os.Remove(d.path(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", d.path(name), err)
	}
	return nil
}

// takeDownFleet stops the fleet and removes its state, whatever is there.
func (d *demo) takeDownFleet(ctx context.Context) error {
	for _, name := range []string{kubectlName, controlPlaneName, remoteName} {
		if err := d.unlink(name); err != nil {
			return err
		}
	}
	return d.fleetCommand("down").run(ctx, streams{})
}

// kubectl is a kubectl command on the control plane.
func (d *demo) kubectl(args ...string) command {
	return append(command{d.path(kubectlName), "--kubeconfig", d.path(controlPlaneName)}, args...)
}

// remoteKubectl is a kubectl command on the remote cluster.
func (d *demo) remoteKubectl(args ...string) command {
	return append(command{d.path(kubectlName), "--kubeconfig", d.path(remoteName)}, args...)
}
