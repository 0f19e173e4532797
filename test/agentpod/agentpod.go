// Package agentpod says what a node would start for the agent of a remote cluster, for those who start it as a process: the
// simulated nodes of local clusters run no containers.
package agentpod

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// Port is the port that API servers call webhooks on.
const Port = "443"

// namespace has all objects of the agent.
const namespace = "kyma-system"

// Pod is what to start as a process. Without an address, nothing is to run.
type Pod struct {
	// Address is the address of the agent's Service, which the process listens on.
	Address                string
	Environment, Arguments []string
	// template is the pod template. Any change of it is a restart.
	template string
}

// Equal reports whether a process that runs as one may go on as the other.
func (p Pod) Equal(other Pod) bool {
	return p.Address == other.Address && p.template == other.template && slices.Equal(p.Environment, other.Environment)
}

// Read returns what has to run in a cluster, and the files of the agent's Secret, which the caller mounts in a folder. If
// objects are missing, nothing has to run, or there are no files yet.
func Read(ctx context.Context, remote client.Reader, folder string) (Pod, map[string][]byte, error) {
	var deployment appsv1.Deployment
	var service corev1.Service
	var secret corev1.Secret
	agent := client.ObjectKey{Namespace: namespace, Name: shared.AgentName}
	if err := remote.Get(ctx, client.ObjectKey{Namespace: namespace, Name: shared.AgentSecret}, &secret); err != nil && !apierrors.IsNotFound(err) {
		return Pod{}, nil, err
	}
	for _, each := range []client.Object{&deployment, &service} {
		if err := remote.Get(ctx, agent, each); apierrors.IsNotFound(err) {
			return Pod{}, secret.Data, nil
		} else if err != nil {
			return Pod{}, nil, err
		}
	}
	if deployment.Spec.Replicas != nil && *deployment.Spec.Replicas == 0 || service.Spec.ClusterIP == "" {
		return Pod{}, secret.Data, nil
	}
	made, err := newPod(&deployment, &service, folder)
	return made, secret.Data, err
}

// newPod returns what the kubelet would start: the variables and arguments of the only container, with the folder in the place of
// where the Secret is mounted. It listens on the address and the port of the Service instead of those of a pod.
func newPod(deployment *appsv1.Deployment, service *corev1.Service, folder string) (Pod, error) {
	template := deployment.Spec.Template
	if len(template.Spec.Containers) != 1 {
		return Pod{}, errors.New("the agent has not one container")
	}
	container := template.Spec.Containers[0]
	mounted := func(text string) string { return text }
	for _, volume := range template.Spec.Volumes {
		for _, mount := range container.VolumeMounts {
			if mount.Name == volume.Name && volume.Secret != nil && volume.Secret.SecretName == shared.AgentSecret {
				mounted = func(text string) string { return strings.ReplaceAll(text, mount.MountPath, folder) }
			}
		}
	}
	written, err := json.Marshal(template)
	if err != nil {
		return Pod{}, err
	}
	p := Pod{Address: service.Spec.ClusterIP, template: string(written)}
	for _, variable := range container.Env {
		p.Environment = append(p.Environment, variable.Name+"="+mounted(variable.Value))
	}
	// Of several values, the last one counts.
	p.Environment = append(p.Environment, "BIND_ADDRESS="+p.Address, "WEBHOOK_PORT="+Port, "PATH="+os.Getenv("PATH"))
	for _, argument := range container.Args {
		p.Arguments = append(p.Arguments, mounted(argument))
	}
	return p, nil
}

// Mount writes files into a folder as the kubelet writes those of a mounted Secret: into a new folder, which a link then
// points to.
func Mount(folder string, files map[string][]byte) error {
	content, err := os.MkdirTemp(folder, "..")
	if err != nil {
		return err
	}
	for name, each := range files {
		if err := os.WriteFile(filepath.Join(content, name), each, 0o600); err != nil {
			return err
		}
		link := filepath.Join(folder, name)
		if _, err := os.Lstat(link); err == nil {
			continue
		}
		if err := os.Symlink(filepath.Join("..data", name), link); err != nil {
			return err
		}
	}
	data := filepath.Join(folder, "..data")
	before, _ := os.Readlink(data)
	if err := os.Symlink(filepath.Base(content), data+"_tmp"); err != nil {
		return err
	}
	if err := os.Rename(data+"_tmp", data); err != nil {
		return err
	}
	if before == "" {
		return nil
	}
	return os.RemoveAll(filepath.Join(folder, before))
}
