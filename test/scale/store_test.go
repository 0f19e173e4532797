package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/test/scale/record"
)

func TestWithoutPostgresTheFiguresAreNoneOfCapacity(t *testing.T) {
	store, _, err := chooseStore(storeSQLite, "")
	require.NoError(t, err)
	require.Equal(t, storeSQLite, store)
	_, _, err = chooseStore(storePostgres, t.TempDir())
	require.ErrorContains(t, err, "initdb, postgres and psql")
	_, _, err = chooseStore("", t.TempDir())
	require.Error(t, err, "a folder that was asked for is not passed over in silence")
	_, _, err = chooseStore("mysql", "")
	require.ErrorContains(t, err, "want postgres or sqlite")
}

func TestHistoriesOfAllRunsOfAWorkflowAreTakenTogether(t *testing.T) {
	require.Equal(t, map[string]record.History{
		"Kyma":  {Workflows: 2, Runs: 1.5, Events: 30, Most: 40, Bytes: 300},
		"Sweep": {Workflows: 1, Runs: 3, Events: 9, Most: 9, Bytes: 90},
	}, sumUp(map[string]past{
		"kyma/a":  {kind: "Kyma", runs: 1, events: 20, bytes: 200},
		"kyma/b":  {kind: "Kyma", runs: 2, events: 40, bytes: 400},
		"sweep/c": {kind: "Sweep", runs: 3, events: 9, bytes: 90},
	}))
}
