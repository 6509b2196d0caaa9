// @ts-check
// States of jobs and runs, and which acts the API accepts in them: what it refuses is not offered.
const OVER = ["SUCCEEDED", "FAILED", "SKIPPED", "CANCELLED", "COMPLETED"];

/** Whether a job or a run has ended. */
export const isOver = (status) => OVER.includes(status);

/** A schedule that has ended begins again with a change; a run that goes on cannot be changed. */
export const canEdit = ({ status }) => status === "COMPLETED" || (!isOver(status) && status !== "RUNNING");

export const canPause = ({ status }) => !isOver(status) && !["PAUSED", "RUNNING", "WAITING"].includes(status);

export const canCancel = ({ status }) => !isOver(status);

/** Whether an entry of a history is a range of skipped fire times. */
export const isRange = (run) => run.count !== undefined;
