import { execFileSync } from 'node:child_process';
import { expect, test } from '../support/test';

const PLAIN = '/store/golden?snapshot=vm%2F100%2F2024-05-01T10%3A00%3A00Z&restore=drive-scsi0.img.fidx';
const ENCRYPTED = '/store/golden?snapshot=vm%2F101%2F2024-05-01T11%3A00%3A00Z&restore=drive-virtio0.img.fidx';

test('Start stays shut, with the reason, while the plan fails', async ({ signedIn: page }) => {
  await page.goto(ENCRYPTED);
  const start = page.getByTestId('restore-start');
  await page.getByTestId('restore-key').setInputFiles({ name: 'x.json', mimeType: 'application/json', buffer: Buffer.from('not a key') });
  await expect(page.getByTestId('restore-plan').getByTestId('problem')).toBeVisible();
  await expect(start).toBeDisabled();
  await expect(page.locator('#restore-note')).toContainText('the plan failed');
});

test('a path the server would refuse is told beside the field', async ({ signedIn: page }) => {
  await page.goto(PLAIN);
  const start = page.getByTestId('restore-start');
  const path = page.getByTestId('restore-target-path');
  await expect(start).toBeEnabled();
  for (const [bad, words] of [['../x', '..'], ['/etc/x', 'only write inside'], ['', 'Give a path'], ['folder/', 'folder']] as const) {
    await path.fill(bad);
    await expect(page.getByTestId('restore-target-note')).toContainText(words);
    await expect(path).toHaveAttribute('aria-invalid', 'true');
    await expect(start).toBeDisabled();
  }
  await path.fill('folder/x.raw');
  await expect(start).toBeEnabled();
  await expect(page.getByTestId('restore-plan')).toContainText('Plan of the source');
});

test('what goes to nowhere is checked, not written', async ({ signedIn: page }) => {
  await page.goto(PLAIN);
  const plan = page.getByTestId('restore-plan');
  await expect(plan).toContainText('To write');
  await page.getByTestId('restore-target-kind').selectOption('null');
  await expect(plan).toContainText('To check');
  await expect(plan).not.toContainText(/To write|left as holes/);
});

test('a session that ended under the dialog leads to the log-in and back into the dialog', async ({ signedIn: page, server }) => {
  await page.goto(PLAIN);
  await page.getByTestId('restore-target-path').fill('kept-over-log-in.raw');
  await page.getByTestId('restore-sha256').check();
  const address = page.url();
  await page.context().clearCookies();
  // Another request of the page may find the session gone first: the log-in is then there already.
  await page.getByTestId('restore-start').click({ timeout: 5_000 }).catch(() => undefined);
  await page.getByTestId('login-password').fill(server.password);
  await page.getByTestId('login-submit').click();
  await expect(page.getByTestId('restore-target-path')).toHaveValue('kept-over-log-in.raw');
  await expect(page.getByTestId('restore-sha256')).toBeChecked();
  expect(page.url()).toBe(address);
});

test('the commands name the store by its path and carry a session, not a token nobody has', async ({ signedIn: page, server }) => {
  await page.goto(PLAIN);
  const command = page.getByTestId('restore-command');
  await expect(command).toContainText(/--store \/\S+\/store /);
  await page.getByRole('tab', { name: 'curl' }).click();
  await expect(command).toContainText('CSRFPreventionToken');
  await expect(command).toContainText(server.user);
  await expect(command).not.toContainText('FLEETHOLD_TOKEN');
});

test('the command line works pasted, wherever the server has its state', async ({ signedIn: page, server }) => {
  await page.goto(PLAIN);
  await page.getByTestId('restore-target-kind').selectOption('null');
  const command = page.getByTestId('restore-command');
  await expect(command).toContainText('--store /');
  const text = (await command.innerText()).replace(/^\$ fleethold /, '"$FLEETHOLD_BIN" ');
  // a shell that knows nothing of this server
  const env = { PATH: process.env.PATH, HOME: server.dir, FLEETHOLD_BIN: process.env.FLEETHOLD_BIN };
  expect(() => execFileSync('bash', ['-c', text], { env, stdio: 'pipe' })).not.toThrow();
});
