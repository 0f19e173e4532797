package agent

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/test/harness/cluster"
)

// pod is what a process is started as. It has no address where there is to be none.
type pod struct {
	address                string
	environment, arguments []string
	// template is the pod's, any change of which is a restart.
	template string
}

func (p pod) equal(other pod) bool {
	return p.address == other.address && p.template == other.template && slices.Equal(p.environment, other.environment)
}

// read is what shall run in a cluster, with the files of its Secret, which are mounted in a folder. Objects that are not
// there are none that shall run, or files that there are not yet.
func read(ctx context.Context, remote cluster.Cluster, folder string) (pod, map[string][]byte, error) {
	var deployment appsv1.Deployment
	var service corev1.Service
	var secret corev1.Secret
	agent := client.ObjectKey{Namespace: namespace, Name: shared.AgentName}
	if err := remote.Get(ctx, client.ObjectKey{Namespace: namespace, Name: shared.AgentSecret}, &secret); err != nil && !apierrors.IsNotFound(err) {
		return pod{}, nil, err
	}
	for _, each := range []client.Object{&deployment, &service} {
		if err := remote.Get(ctx, agent, each); apierrors.IsNotFound(err) {
			return pod{}, secret.Data, nil
		} else if err != nil {
			return pod{}, nil, err
		}
	}
	if deployment.Spec.Replicas != nil && *deployment.Spec.Replicas == 0 || service.Spec.ClusterIP == "" {
		return pod{}, secret.Data, nil
	}
	made, err := newPod(&deployment, &service, folder)
	return made, secret.Data, err
}

// newPod is what the kubelet would start: the variables and arguments of the only container, with the folder in the place of
// where the Secret is mounted. It listens on the address and the port of the Service instead of those of a pod.
func newPod(deployment *appsv1.Deployment, service *corev1.Service, folder string) (pod, error) {
	template := deployment.Spec.Template
	if len(template.Spec.Containers) != 1 {
		return pod{}, errors.New("the agent has not one container")
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
		return pod{}, err
	}
	p := pod{address: service.Spec.ClusterIP, template: string(written)}
	for _, variable := range container.Env {
		p.environment = append(p.environment, variable.Name+"="+mounted(variable.Value))
	}
	// Of several values, the last one counts.
	p.environment = append(p.environment, "BIND_ADDRESS="+p.address, "WEBHOOK_PORT="+servicePort, "PATH="+os.Getenv("PATH"))
	for _, argument := range container.Args {
		p.arguments = append(p.arguments, mounted(argument))
	}
	return p, nil
}
