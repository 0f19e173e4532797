package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// liveness says when the operator is active, so that a process outside the
// cluster represents a Deployment inside.
type liveness string

const (
	// whileAvailable: while the Deployment has an available replica, as if the
	// process ran in its pod.
	whileAvailable liveness = "available"
	// whileExists: while the Deployment exists; for clusters that run no pods.
	whileExists liveness = "exists"
	// always: whatever is in the cluster.
	always liveness = "always"
)

// name of the operator's Deployment and of the ConfigMap with its version.
const operatorName = "sample-operator"

// operator serves the Samples of one cluster. It needs no CustomResourceDefinition
// to start with, and survives its absence.
type operator struct {
	client    dynamic.Interface
	namespace string
	liveness  liveness
	// retry is the time between two attempts while something is missing.
	retry time.Duration
	// resync is the longest time between two reconciles.
	resync time.Duration
	log    *slog.Logger
}

func deployments() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
}

func configMaps() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
}

// run serves until the context ends. Every change causes one reconcile of
// everything: there is little of it, and nothing to remember.
func (o *operator) run(ctx context.Context) {
	changed := make(chan struct{}, 1)
	own := fields.OneTermEqualSelector(metav1.ObjectNameField, operatorName).String()
	var watches sync.WaitGroup
	for _, watched := range []struct {
		resource dynamic.ResourceInterface
		selector string
	}{
		{o.client.Resource(samples()), ""},
		{o.client.Resource(deployments()).Namespace(o.namespace), own},
		{o.client.Resource(configMaps()).Namespace(o.namespace), own},
	} {
		watches.Go(func() { o.watch(ctx, watched.resource, watched.selector, changed) })
	}
	defer watches.Wait()

	said := ""
	for ctx.Err() == nil {
		pause := o.resync
		state := "active"
		if err := o.reconcile(ctx); err != nil {
			state = err.Error()
			if !errors.Is(err, errAsleep) { // else the watch wakes it
				pause = o.retry
			}
		}
		if state != said && ctx.Err() == nil {
			o.log.Info("sample operator", "state", state)
			said = state
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-time.After(pause):
		}
	}
}

// watch says whenever something of the resource changes, as long as the context
// lasts. A kind that is unknown as yet, or gone again, is requested again.
func (o *operator) watch(ctx context.Context, resource dynamic.ResourceInterface, selector string, changed chan<- struct{}) {
	notify := func() {
		select {
		case changed <- struct{}{}:
		default: // one reconcile is due already
		}
	}
	for ctx.Err() == nil {
		stream, err := resource.Watch(ctx, metav1.ListOptions{FieldSelector: selector})
		if err == nil {
			release := context.AfterFunc(ctx, stream.Stop)
			for range stream.ResultChan() {
				notify()
			}
			release()
			stream.Stop()
		}
		select {
		case <-ctx.Done():
		case <-time.After(o.retry):
		}
	}
}

// errAsleep says that the operator's Deployment does not run.
var errAsleep = errors.New("asleep, as the Deployment " + operatorName + " does not run")

// reconcile brings every Sample one step further.
func (o *operator) reconcile(ctx context.Context) error {
	awake, err := o.awake(ctx)
	if err != nil {
		return err
	}
	if !awake {
		return errAsleep
	}
	version, err := o.version(ctx)
	if err != nil {
		return err
	}
	list, err := o.client.Resource(samples()).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list Samples: %w", err)
	}
	var failed []error
	for i := range list.Items {
		failed = append(failed, o.serve(ctx, &list.Items[i], version))
	}
	return errors.Join(failed...)
}

func (o *operator) awake(ctx context.Context) (bool, error) {
	if o.liveness == always {
		return true, nil
	}
	deployment, err := o.client.Resource(deployments()).Namespace(o.namespace).Get(ctx, operatorName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read Deployment %s/%s: %w", o.namespace, operatorName, err)
	}
	if o.liveness == whileExists {
		return true, nil
	}
	available, _, err := unstructured.NestedInt64(deployment.Object, "status", "availableReplicas")
	if err != nil {
		return false, fmt.Errorf("read Deployment %s/%s: %w", o.namespace, operatorName, err)
	}
	return available > 0, nil
}

// version is what the module's ConfigMap says; empty without one.
func (o *operator) version(ctx context.Context) (string, error) {
	settings, err := o.client.Resource(configMaps()).Namespace(o.namespace).Get(ctx, operatorName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read ConfigMap %s/%s: %w", o.namespace, operatorName, err)
	}
	return text(settings, "data", "version"), nil
}

// serve does the next step for a Sample. A conflict is no
// error: the change of the other causes another reconcile.
func (o *operator) serve(ctx context.Context, sample *unstructured.Unstructured, version string) error {
	todo := next(sample, version)
	resource := o.client.Resource(samples()).Namespace(sample.GetNamespace())
	var err error
	switch {
	case todo.addFinalizer:
		sample.SetFinalizers(append(sample.GetFinalizers(), finalizer))
		_, err = resource.Update(ctx, sample, metav1.UpdateOptions{FieldManager: operatorName})
	case todo.removeFinalizer:
		sample.SetFinalizers(slices.DeleteFunc(sample.GetFinalizers(), func(name string) bool { return name == finalizer }))
		_, err = resource.Update(ctx, sample, metav1.UpdateOptions{FieldManager: operatorName})
	case todo.status != nil:
		report := map[string]any{"state": todo.status.state, "observedGeneration": todo.status.generation}
		if todo.status.version != "" {
			report["observedVersion"] = todo.status.version
		}
		if todo.status.message != "" {
			report["message"] = todo.status.message
		}
		sample.Object["status"] = report
		_, err = resource.UpdateStatus(ctx, sample, metav1.UpdateOptions{FieldManager: operatorName})
	}
	if err == nil || apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("serve Sample %s/%s: %w", sample.GetNamespace(), sample.GetName(), err)
}
