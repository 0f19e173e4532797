// Package histories reads the histories of all runs of a workflow from a Temporal server, and keeps them as files, by
// which test/replay replays them. It needs a client of Temporal only: no environment, no fleet.
//
// A folder of a version of the logic, such as test/replay/histories/v1, has a folder for each scenario, and in that one
// file per run: NAME.NUMBER.json, where NAME says which of the scenario's workflows it is, and numbers count from 1. A
// workflow has several runs where one continued as new, or where it was started again after it had completed. Beside the
// scenarios, [ExpectedFile] says how many runs each workflow of a scenario has.
//
//	runs, err := histories.Read(ctx, temporal, kick.KymaWorkflowID(ref))
//	written, err := histories.Write("test/replay/histories/v1", "removal", map[string][]histories.Run{"kyma": runs})
//
// Tests with an environment use harness.Environment.AssertRuns, which does both.
package histories
