package main

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// What Temporal keeps its data in.
const (
	storePostgres = "postgres"
	storeSQLite   = "sqlite"
)

// noCapacity is said of figures with the development server, on the screen and in the record.
const noCapacity = "Temporal is its development server on SQLite, with one shard and one connection: the figures compare builds, and say nothing about capacity"

// temporalInfo says in the record what Temporal ran on.
type temporalInfo struct {
	Store string `json:"store"`
	// Shards is the number of history shards.
	Shards int `json:"shards"`
	// Version is PostgreSQL's.
	Version string `json:"version,omitempty"`
	// Settings are those that are not PostgreSQL's defaults.
	Settings map[string]string `json:"settings,omitempty"`
	// Note says what the figures cannot say.
	Note string `json:"note,omitempty"`
}

// chooseStore decides what Temporal runs on, and where PostgreSQL's programs are.
func chooseStore(asked, folder string) (store, programs string, err error) {
	switch asked {
	case storeSQLite:
		return storeSQLite, "", nil
	case storePostgres, "":
		programs, err := findPostgres(folder)
		if errors.Is(err, errNoPostgres) && asked == "" {
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
	e.postgres, err = newPostgres(ctx, e.postgresPrograms)
	if err != nil {
		return err
	}
	running, err := e.start(e.postgres.program())
	if err != nil {
		return err
	}
	if err := e.postgres.ready(ctx, running); err != nil {
		return err
	}
	version, err := e.postgres.query(ctx, "SHOW server_version")
	if err != nil {
		return err
	}
	e.temporal = temporalInfo{Store: storePostgres, Shards: e.shards, Version: version, Settings: e.postgres.settings()}
	ports, err := freePorts(2 * len(services()))
	if err != nil {
		return err
	}
	e.server = &temporalServer{database: e.postgres, server: server, sqlTool: sqlTool, folder: e.path("temporal"), shards: e.shards, ports: ports}
	if err := e.server.configure(); err != nil {
		return err
	}
	e.fleet.Temporal.Address, e.fleet.Temporal.Namespace = e.server.address(), orDefault("")
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
	return register(ctx, e.fleet.Temporal.Address, e.fleet.Temporal.Namespace, e.temporalProcess.died)
}

// loseStore throws away all that Temporal remembers, and starts it empty.
func (e *environment) loseStore(ctx context.Context) error {
	if e.server == nil {
		_, err := output(ctx, nil, "bin/fleet", "--state-dir", e.path("fleet"), "reset", "temporal")
		e.watched.addFleet(e.path("fleet"))
		return err
	}
	e.end(e.temporalProcess, e.temporalProcess.stop)
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

// fleetArguments leave out of the fleet what this program brings itself.
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
		fmt.Fprintln(os.Stderr, "PostgreSQL's data are in", e.postgres.folder)
		return nil
	}
	return e.postgres.remove()
}
