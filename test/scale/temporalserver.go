package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/test/scale/postgres"
	"github.com/kyma-project/lifecycle-manager/test/scale/processes"
	"github.com/kyma-project/lifecycle-manager/worker"
)

// temporalServer is a Temporal server, all services in one process, on PostgreSQL.
type temporalServer struct {
	database *postgres.Server
	// server and sqlTool are the programs.
	server, sqlTool string
	folder          string
	shards          int
	// ports are those of the services, those by which the services find each other, and the metrics' port.
	ports []int
}

// databases are Temporal's, with the schemas that its own tool has for them.
func databases() map[string]string {
	return map[string]string{"temporal": "postgresql/v12/temporal", "temporal_visibility": "postgresql/v12/visibility"}
}

// services are those of a Temporal server.
func services() []string { return []string{"frontend", "history", "matching", "worker"} }

// buildTemporalServer returns the server's programs, which are built where they are missing.
func buildTemporalServer(ctx context.Context) (server, sqlTool string, err error) {
	say("building the Temporal server, if it is not there yet")
	out, err := processes.Output(ctx, nil, "bin/fleet", "build", "temporal-server", "temporal-sql-tool", "--output", "json")
	if err != nil {
		return "", "", err
	}
	var paths map[string]string
	if err := json.Unmarshal(out, &paths); err != nil {
		return "", "", fmt.Errorf("read which programs there are: %w", err)
	}
	return paths["temporal-server"], paths["temporal-sql-tool"], nil
}

func (t *temporalServer) address() string { return processes.Local(t.ports[0]) }

func (t *temporalServer) metricsAddress() string { return processes.Local(t.ports[2*len(services())]) }

// setUp makes the databases, empty.
func (t *temporalServer) setUp(ctx context.Context) error {
	for database, schema := range databases() {
		for _, arguments := range [][]string{
			{"create-database"}, {"setup-schema", "--version", "0.0"}, {"update-schema", "--schema-name", schema},
		} {
			if _, err := processes.Output(ctx, nil, t.sqlTool, append([]string{
				"--plugin", "postgres12_pgx", "--endpoint", "127.0.0.1", "--port", strconv.Itoa(t.database.Port), "--user", postgres.User, "--database", database,
			}, arguments...)...); err != nil {
				return err
			}
		}
	}
	return nil
}

// drop loses the databases.
func (t *temporalServer) drop(ctx context.Context) error {
	for database := range databases() {
		if _, err := t.database.Query(ctx, "DROP DATABASE "+database+" WITH (FORCE)"); err != nil {
			return err
		}
	}
	return nil
}

// configure writes the server's configuration: the defaults, but for addresses.
func (t *temporalServer) configure() error {
	store := func(database string, connections int) map[string]any {
		return map[string]any{"sql": map[string]any{
			"pluginName": "postgres12_pgx", "databaseName": database, "connectAddr": processes.Local(t.database.Port), "connectProtocol": "tcp",
			"user": postgres.User, "maxConns": connections, "maxIdleConns": connections, "maxConnLifetime": "1h",
		}}
	}
	offered := map[string]any{}
	for i, service := range services() {
		offered[service] = map[string]any{"rpc": map[string]any{
			"grpcPort": t.ports[i], "membershipPort": t.ports[len(services())+i], "bindOnIP": "127.0.0.1",
		}}
	}
	config, err := yaml.Marshal(map[string]any{
		"log": map[string]any{"stdout": true, "level": "warn"},
		"persistence": map[string]any{
			"defaultStore": "main", "visibilityStore": "visibility", "numHistoryShards": t.shards,
			// Connections of each service, of which history and matching use the main store, and all the visibility
			// store little.
			"datastores": map[string]any{"main": store("temporal", 20), "visibility": store("temporal_visibility", 10)},
		},
		"global": map[string]any{
			"membership": map[string]any{"maxJoinDuration": "30s", "broadcastAddress": "127.0.0.1"},
			"metrics":    map[string]any{"prometheus": map[string]any{"listenAddress": t.metricsAddress()}},
		},
		"services": offered,
		"clusterMetadata": map[string]any{
			"enableGlobalNamespace": false, "failoverVersionIncrement": 10, "masterClusterName": "active", "currentClusterName": "active",
			"clusterInformation": map[string]any{"active": map[string]any{
				"enabled": true, "initialFailoverVersion": 1, "rpcName": "frontend", "rpcAddress": t.address(),
			}},
		},
		"dcRedirectionPolicy": map[string]any{"policy": "noop"},
		"publicClient":        map[string]any{"hostPort": t.address()},
		"dynamicConfigClient": map[string]any{"filepath": t.dynamicConfig(), "pollInterval": "1h"},
	})
	if err != nil {
		return fmt.Errorf("write Temporal's configuration: %w", err)
	}
	dynamic, err := yaml.Marshal(byPriority())
	if err != nil {
		return fmt.Errorf("write Temporal's dynamic configuration: %w", err)
	}
	if err := os.MkdirAll(t.folder, 0o700); err != nil {
		return fmt.Errorf("write Temporal's configuration: %w", err)
	}
	if err := os.WriteFile(t.dynamicConfig(), dynamic, 0o600); err != nil {
		return fmt.Errorf("write Temporal's dynamic configuration: %w", err)
	}
	return os.WriteFile(filepath.Join(t.folder, "scale.yaml"), config, 0o600)
}

func (t *temporalServer) dynamicConfig() string { return filepath.Join(t.folder, "dynamic.yaml") }

// byPriority are the settings with which the server serves tasks by priority, and in turn between tenants.
func byPriority() map[string]any {
	on := []map[string]any{{"value": true}}
	return map[string]any{"matching.useNewMatcher": on, "matching.enableFairness": on}
}

func (t *temporalServer) program() processes.Program {
	return processes.Program{Name: "temporal", Path: t.server, Arguments: []string{"--root", t.folder, "--config", ".", "--env", "scale", "--allow-no-auth", "start"}}
}

// register makes the namespace, as the development server has it from the start, and waits until all can be used.
func register(ctx context.Context, address, namespace string, died func() error) error {
	namespaces, err := client.NewNamespaceClient(client.Options{HostPort: address, Logger: quiet{}})
	if err != nil {
		return fmt.Errorf("make the client of Temporal's namespaces: %w", err)
	}
	defer namespaces.Close()
	var last error
	registered := func(context.Context) error {
		last = namespaces.Register(ctx, &workflowservice.RegisterNamespaceRequest{
			Namespace: namespace, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
		})
		if _, exists := last.(*serviceerror.NamespaceAlreadyExists); exists { //nolint:errorlint // the SDK does not wrap it
			last = nil
		}
		return last
	}
	if err := processes.Until(ctx, 2*time.Minute, "Temporal registers a namespace", func() (bool, error) { return registered(ctx) == nil, died() }); err != nil {
		return errors.Join(err, last)
	}
	temporal, err := client.DialContext(ctx, client.Options{HostPort: address, Namespace: namespace, Logger: quiet{}})
	if err != nil {
		return fmt.Errorf("connect to Temporal: %w", err)
	}
	defer temporal.Close()
	// The server sees a namespace and its search attributes only after a refresh of its caches, of up to a minute; what
	// Lifecycle Manager would wait for is no part of what is measured.
	err = processes.Until(ctx, 3*time.Minute, "Temporal knows the search attributes", func() (bool, error) {
		if _, last = worker.EnsureSearchAttributes(ctx, temporal, namespace); last == nil {
			_, last = temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: namespace, Query: "KymaName = 'none'"})
		}
		return last == nil, died()
	})
	if err != nil {
		return errors.Join(err, last)
	}
	return nil
}

// quiet keeps the SDK's logs out of this program's output.
type quiet struct{}

// Debug implements log.Logger.
func (quiet) Debug(string, ...any) {}

// Info implements log.Logger.
func (quiet) Info(string, ...any) {}

// Warn implements log.Logger.
func (quiet) Warn(string, ...any) {}

// Error implements log.Logger.
func (quiet) Error(string, ...any) {}
