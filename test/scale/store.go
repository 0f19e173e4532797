package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/kyma-project/lifecycle-manager/test/scale/postgres"
	"github.com/kyma-project/lifecycle-manager/test/scale/processes"
	"github.com/kyma-project/lifecycle-manager/test/scale/record"
)

// What Temporal keeps its data in.
const (
	storePostgres = "postgres"
	storeSQLite   = "sqlite"
)

// noCapacity is the note on figures with the development server, on the screen and in the record.
const noCapacity = "Temporal is its development server on SQLite, with one shard and one connection: the figures compare builds, and say nothing about capacity"

// chooseStore decides what Temporal runs on, and where PostgreSQL's programs are.
func chooseStore(asked, folder string) (store, programs string, err error) {
	switch asked {
	case storeSQLite:
		return storeSQLite, "", nil
	case storePostgres, "":
		programs, err := postgres.Find(folder)
		if errors.Is(err, postgres.ErrNotFound) && asked == "" {
			say("%v", err)
			return storeSQLite, "", nil
		}
		return storePostgres, programs, err
	default:
		return "", "", fmt.Errorf("-temporal-store %q: want %s or %s", asked, storePostgres, storeSQLite) //nolint:err113 // for people
	}
}

// startStore starts PostgreSQL and Temporal, unless Temporal is the fleet's development server.
func (e *environment) startStore(ctx context.Context) error {
	if e.store == storeSQLite {
		say("%s", noCapacity)
		e.temporal.Store, e.temporal.Shards, e.temporal.Note = storeSQLite, 1, noCapacity
		e.fleet.Temporal.Namespace = orDefault(e.fleet.Temporal.Namespace)
		return nil
	}
	server, sqlTool, err := buildTemporalServer(ctx)
	if err != nil {
		return err
	}
	say("starting PostgreSQL and Temporal with %d history shards", e.shards)
	e.postgres, err = postgres.New(ctx, e.postgresPrograms)
	if err != nil {
		return err
	}
	running, err := e.start(e.postgres.Program())
	if err != nil {
		return err
	}
	if err := e.postgres.Ready(ctx, running); err != nil {
		return err
	}
	version, err := e.postgres.Query(ctx, "SHOW server_version")
	if err != nil {
		return err
	}
	e.temporal = record.Temporal{Store: storePostgres, Shards: e.shards, Version: version, Settings: e.postgres.Settings()}
	ports, err := processes.FreePorts(2*len(services()) + 1)
	if err != nil {
		return err
	}
	e.server = &temporalServer{database: e.postgres, server: server, sqlTool: sqlTool, folder: e.path("temporal"), shards: e.shards, ports: ports}
	if err := e.server.configure(); err != nil {
		return err
	}
	e.fleet.Temporal.Address, e.fleet.Temporal.Namespace = e.server.address(), orDefault("")
	e.fleet.Temporal.MetricsURL = "http://" + e.server.metricsAddress() + "/metrics"
	return e.startTemporal(ctx)
}

// startTemporal starts Temporal on empty databases.
func (e *environment) startTemporal(ctx context.Context) error {
	if err := e.server.setUp(ctx); err != nil {
		return err
	}
	var err error
	if e.temporalProcess, err = e.start(e.server.program()); err != nil {
		return err
	}
	return register(ctx, e.fleet.Temporal.Address, e.fleet.Temporal.Namespace, e.temporalProcess.Died)
}

// loseStore throws away all that Temporal remembers, and starts it empty.
func (e *environment) loseStore(ctx context.Context) error {
	if e.server == nil {
		_, err := processes.Output(ctx, nil, "bin/fleet", "--state-dir", e.path("fleet"), "reset", "temporal")
		e.watched.AddFleet(e.path("fleet"))
		return err
	}
	e.end(e.temporalProcess, e.temporalProcess.Stop)
	if err := e.server.drop(ctx); err != nil {
		return err
	}
	return e.startTemporal(ctx)
}

// orDefault is the namespace, which is called as that of the development server where nothing else is known.
func orDefault(namespace string) string {
	if namespace == "" {
		return "default"
	}
	return namespace
}

// fleetArguments omit from the fleet what this program brings itself.
func (e *environment) fleetArguments() []string {
	if e.store == storePostgres {
		return []string{"--without-temporal"}
	}
	return nil
}

// removeStore deletes what is not in our own folder.
func (e *environment) removeStore() error {
	if e.postgres == nil {
		return nil
	}
	if e.keep {
		fmt.Fprintln(os.Stderr, "PostgreSQL's data are in", e.postgres.Folder)
		return nil
	}
	return e.postgres.Remove()
}
