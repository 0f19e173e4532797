package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// The node and its pods have addresses that are set aside for documentation and benchmarks (RFC 5737, RFC 2544), since
// endpoints must not have loopback addresses.
const (
	nodeName    = "node-1"
	nodeAddress = "192.0.2.1"
	firstPod    = "198.18.0.0"
)

// node plays the kubelet of the cluster's only node, without running any container: pods run and are ready at once,
// pods of Jobs succeed, and deleted pods go.
//
// It sends no heartbeats. The node lifecycle controller, which would miss them, is switched off.
type node struct {
	client kubernetes.Interface
	pods   cache.Store
	queue  workqueue.TypedRateLimitingInterface[string]
}

// startNode runs the node until the process ends.
func startNode(ctx context.Context, config *rest.Config) error {
	client, err := clientFor(config, "kubelet")
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTweakListOptions(func(options *metav1.ListOptions) {
		options.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", nodeName).String()
	}))
	pods := factory.Core().V1().Pods().Informer()
	n := &node{
		client: client, pods: pods.GetStore(),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()),
	}
	enqueue := func(object any) {
		if key, err := cache.MetaNamespaceKeyFunc(object); err == nil {
			n.queue.Add(key)
		}
	}
	if _, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: enqueue, UpdateFunc: func(_, object any) { enqueue(object) },
	}); err != nil {
		return fmt.Errorf("watch the pods of %s: %w", nodeName, err)
	}
	factory.Start(ctx.Done())
	go n.register(ctx)
	const workers = 8
	for range workers {
		go n.work(ctx)
	}
	return nil
}

// register creates the node, and makes it ready.
func (n *node) register(ctx context.Context) {
	const pause = 100 * time.Millisecond
	for {
		err := n.tryToRegister(ctx)
		if err == nil {
			return
		}
		klog.ErrorS(err, "the node is not registered yet")
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

func (n *node) tryToRegister(ctx context.Context) error {
	nodes := n.client.CoreV1().Nodes()
	labels := map[string]string{
		corev1.LabelHostname: nodeName, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
	}
	_, err := nodes.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName, Labels: labels}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create node %s: %w", nodeName, err)
	}
	created, err := nodes.Get(ctx, nodeName, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read node %s: %w", nodeName, err)
	}
	// Admission adds a taint to each new node, which the node lifecycle controller would remove.
	created.Spec.Taints = nil
	if created, err = nodes.Update(ctx, created, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("remove the taints of node %s: %w", nodeName, err)
	}
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("256"),
		corev1.ResourceMemory:           resource.MustParse("1Ti"),
		corev1.ResourceEphemeralStorage: resource.MustParse("10Ti"),
		corev1.ResourcePods:             resource.MustParse("10000"),
	}
	created.Status = corev1.NodeStatus{
		Capacity: capacity, Allocatable: capacity,
		Addresses:  []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: nodeAddress}},
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Simulated", LastTransitionTime: metav1.Now()}},
	}
	if _, err := nodes.UpdateStatus(ctx, created, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("make node %s ready: %w", nodeName, err)
	}
	return nil
}

func (n *node) work(ctx context.Context) {
	for {
		key, stopped := n.queue.Get()
		if stopped {
			return
		}
		if err := n.step(ctx, key); err != nil && !apierrors.IsNotFound(err) {
			// A conflict means that a newer version of the pod is on its way here.
			if !apierrors.IsConflict(err) {
				klog.ErrorS(err, "the node works on a pod again", "pod", key)
			}
			n.queue.AddRateLimited(key)
		} else {
			n.queue.Forget(key)
		}
		n.queue.Done(key)
	}
}

// step takes a pod one step further, if there is one to take.
func (n *node) step(ctx context.Context, key string) error {
	object, found, err := n.pods.GetByKey(key)
	if err != nil || !found {
		return err
	}
	pod := object.(*corev1.Pod).DeepCopy()
	pods := n.client.CoreV1().Pods(pod.Namespace)
	switch {
	case pod.DeletionTimestamp != nil:
		return pods.Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: new(int64(0)), Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
		})
	case pod.Status.Phase == corev1.PodPending && !isReady(pod):
		run(pod)
	case pod.Status.Phase == corev1.PodRunning && isOfJob(pod):
		succeed(pod)
	default:
		return nil
	}
	_, err = pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	return err
}

func isReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

func isOfJob(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind == "Job"
}

// run makes a pod run, and ready.
func run(pod *corev1.Pod) {
	now := metav1.Now()
	ready := []corev1.PodConditionType{corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady}
	for _, gate := range pod.Spec.ReadinessGates {
		ready = append(ready, gate.ConditionType)
	}
	for _, condition := range ready {
		setCondition(pod, corev1.PodCondition{Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}
	pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses = nil, nil
	for _, container := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, containerStatus(container, running))
	}
	for _, container := range pod.Spec.InitContainers {
		state := completed(now)
		if container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			state = running
		}
		pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, containerStatus(container, state))
	}
	pod.Status.Phase, pod.Status.StartTime = corev1.PodRunning, &now
	address := podAddress(pod)
	pod.Status.HostIP, pod.Status.HostIPs = nodeAddress, []corev1.HostIP{{IP: nodeAddress}}
	pod.Status.PodIP, pod.Status.PodIPs = address, []corev1.PodIP{{IP: address}}
}

// succeed completes all containers of a pod.
func succeed(pod *corev1.Pod) {
	now := metav1.Now()
	pod.Status.Phase = corev1.PodSucceeded
	for i := range pod.Status.ContainerStatuses {
		status := &pod.Status.ContainerStatuses[i]
		status.Ready, status.Started, status.State = false, new(false), completed(now)
	}
}

func containerStatus(container corev1.Container, state corev1.ContainerState) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name: container.Name, Image: container.Image, Ready: true, Started: new(state.Running != nil), State: state,
	}
}

func completed(now metav1.Time) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: now, FinishedAt: now}}
}

func setCondition(pod *corev1.Pod, condition corev1.PodCondition) {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == condition.Type {
			pod.Status.Conditions[i] = condition
			return
		}
	}
	pod.Status.Conditions = append(pod.Status.Conditions, condition)
}

// podAddress derives a pod's address from its uid. Two pods may share one: nothing listens there.
func podAddress(pod *corev1.Pod) string {
	if pod.Spec.HostNetwork {
		return nodeAddress
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(pod.UID))
	address := netip.MustParseAddr(firstPod).As4()
	address[2], address[3] = byte(hash.Sum32()>>8), byte(hash.Sum32())
	return netip.AddrFrom4(address).String()
}
