package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
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
	d.say("starting two clusters and Temporal")
	// What may remain of a crash is of no use.
	if err := d.takeDownFleet(ctx); err != nil {
		return err
	}
	up := d.fleetCommand("up", "--output", "json", "--remotes", "1", "--without-registry", "--owner-pid", strconv.Itoa(os.Getpid()))
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
	if err := d.link(); err != nil {
		return err
	}
	var err error
	if d.controlPlane, err = connect(d.fleet.ControlPlane.Kubeconfig); err != nil {
		return err
	}
	d.remote, err = connect(d.fleet.Remotes[0].Kubeconfig)
	return err
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
	controlPlaneName = "control-plane.kubeconfig"
	remoteName       = "remote.kubeconfig"
)

// link gives the kubeconfigs short names in the demo's folder.
func (d *demo) link() error {
	for name, target := range map[string]string{
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
	for _, name := range []string{controlPlaneName, remoteName} {
		if err := d.unlink(name); err != nil {
			return err
		}
	}
	return d.fleetCommand("down").run(ctx, streams{})
}

// builtKubectl is where `make kubectl` puts one.
const builtKubectl = "kubectl"

// kubectlProgram is the kubectl in the commands that the demo prints; it runs none itself.
func (d *demo) kubectlProgram() string {
	if _, err := exec.LookPath("kubectl"); err == nil {
		return "kubectl"
	}
	return d.program(builtKubectl)
}

// kubectl is a kubectl command on the control plane.
func (d *demo) kubectl(args ...string) command {
	return append(command{d.kubectlProgram(), "--kubeconfig", d.path(controlPlaneName)}, args...)
}

// remoteKubectl is a kubectl command on the remote cluster.
func (d *demo) remoteKubectl(args ...string) command {
	return append(command{d.kubectlProgram(), "--kubeconfig", d.path(remoteName)}, args...)
}
