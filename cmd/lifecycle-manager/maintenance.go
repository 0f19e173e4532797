package main

import (
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"

	"github.com/kyma-project/lifecycle-manager/cmd/internal/agreement"
	"github.com/kyma-project/lifecycle-manager/internal/model/windows"
)

const (
	policyPathFlag = "maintenance-policy-path"
	policyPathEnv  = "MAINTENANCE_POLICY_PATH"
	// defaultPolicyPath is read also where nobody configured a policy; a file need not be there.
	defaultPolicyPath = "/etc/maintenance-policy/policy.json"
)

// maintenanceFlags say where the maintenance policy is and how its windows count.
type maintenanceFlags struct {
	path    string
	minSize time.Duration
	// named tells whether somebody chose the path, by flag or environment: then the file must be there.
	named func() bool
}

// register adds the flags to a set. The environment is asked through getenv; a flag goes before it.
func (m *maintenanceFlags) register(set *pflag.FlagSet, getenv func(string) string) {
	fromEnv := getenv(policyPathEnv)
	path := defaultPolicyPath
	if fromEnv != "" {
		path = fromEnv
	}
	set.StringVar(&m.path, policyPathFlag, path,
		"file with the maintenance policy (environment: "+policyPathEnv+"); a path that is set and has no file keeps upgrades waiting; empty: no policy")
	set.DurationVar(&m.minSize, "min-maintenance-window-size", 20*time.Minute,
		"how much of a maintenance window must be left for an upgrade to begin in it; shorter windows are not used")
	m.named = func() bool { return fromEnv != "" || set.Changed(policyPathFlag) }
}

// check refuses what cannot be meant.
func (m *maintenanceFlags) check() error {
	if m.minSize < 0 {
		return fmt.Errorf("--min-maintenance-window-size must not be negative, got %s", m.minSize)
	}
	return nil
}

// asRecorded is the policy that a command plans with. The record has no more of the instance's than its digest, so a command
// that was given no policy and finds another one, or none, cannot plan.
func (m *maintenanceFlags) asRecorded(record *corev1.ConfigMap) (*windows.Source, error) {
	policies, err := m.source(nil, logr.Discard())
	if err != nil || record == nil || m.named() {
		return policies, err
	}
	switch record.Data[agreement.SettingPolicy] {
	case policies.Digest():
		return policies, nil
	case "":
		return windows.New(windows.Options{MinSize: m.minSize})
	}
	return nil, fmt.Errorf("--%s is missing: the instance has a maintenance policy, by which upgrades wait, and its record (ConfigMap %s/%s) has only the digest",
		policyPathFlag, record.Namespace, record.Name)
}

// source follows the policy file, with a gauge that tells whether it is understood.
func (m *maintenanceFlags) source(registry prometheus.Registerer, log logr.Logger) (*windows.Source, error) {
	return windows.New(windows.Options{
		Path: m.path, Required: m.named(), MinSize: m.minSize, Metrics: registry, Log: log.WithName("maintenance"),
	})
}
