package service

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/crypto/bcrypt"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/ports"
	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/state"
)

// fleetHeader is sent with each answer of the registry and names its fleet, so
// that another fleet's registry on the same port is not taken for ours.
const fleetHeader = "X-Lifecycle-Manager-Fleet"

// Registry is the OCI registry with its place on this machine.
type Registry struct {
	state.Registry

	// Dir is the folder of its configuration and data.
	Dir string
	// FleetID is the fleet that it belongs to.
	FleetID string
}

// Host is host and port of the registry, as in an image reference.
func (r Registry) Host() string { return ports.Address(r.HTTP.Number) }

// URL is the address of the registry.
func (r Registry) URL() string { return "http://" + r.Host() }

func (r Registry) configPath() string { return filepath.Join(r.Dir, "config.yaml") }

func (r Registry) passwordsPath() string { return filepath.Join(r.Dir, "htpasswd") }

// Args are the registry's arguments.
func (r Registry) Args() []string { return []string{"serve", r.configPath()} }

// Env keeps the registry from searching a collector of traces.
func (r Registry) Env() []string { return []string{"OTEL_TRACES_EXPORTER=none"} }

// Prepare writes the registry's configuration.
func (r Registry) Prepare() error {
	if err := os.MkdirAll(filepath.Join(r.Dir, "data"), 0o700); err != nil {
		return fmt.Errorf("folder of the registry: %w", err)
	}
	config := map[string]any{
		"version": "0.1",
		"log":     map[string]any{"level": "warn", "accesslog": map[string]any{"disabled": true}},
		"storage": map[string]any{
			"filesystem": map[string]any{"rootdirectory": filepath.Join(r.Dir, "data")},
			"delete":     map[string]any{"enabled": true},
		},
		"http": map[string]any{
			"addr":    r.Host(),
			"headers": map[string]any{fleetHeader: []string{r.FleetID}},
			// Signs the state of uploads, which may continue after a restart.
			"secret": r.FleetID,
		},
	}
	if r.Username != "" {
		hash, err := bcrypt.GenerateFromPassword([]byte(r.Password), bcrypt.MinCost)
		if err != nil {
			return fmt.Errorf("password of the registry: %w", err)
		}
		if err := state.WriteFile(r.passwordsPath(), fmt.Appendf(nil, "%s:%s\n", r.Username, hash)); err != nil {
			return err
		}
		config["auth"] = map[string]any{
			"htpasswd": map[string]any{"realm": "lifecycle-manager-fleet", "path": r.passwordsPath()},
		}
	}
	data, err := yaml.Marshal(config)
	if err != nil {
		return fmt.Errorf("configuration of the registry: %w", err)
	}
	return state.WriteFile(r.configPath(), data)
}

// Ready returns nil when this fleet's registry answers.
func (r Registry) Ready(ctx context.Context) error {
	header, err := get(ctx, r.URL()+"/v2/", r.Username, r.Password)
	if err != nil {
		return fmt.Errorf("registry: %w", err)
	}
	if id := header.Get(fleetHeader); id != r.FleetID {
		return fmt.Errorf("registry: another server answers at %s", r.Host())
	}
	return nil
}
